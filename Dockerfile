# The gateway as an image: settings in /etc/structguard.toml, state in /var/lib/structguard.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY structguard ./structguard
RUN python -m venv /opt/structguard \
 && /opt/structguard/bin/pip install --no-cache-dir '.[gateway,redis,bedrock]'

FROM python:3.13-slim
RUN useradd --system --create-home --home-dir /var/lib/structguard structguard
COPY --from=build /opt/structguard /opt/structguard
ENV PATH=/opt/structguard/bin:$PATH XDG_CACHE_HOME=/var/lib/structguard PYTHONUNBUFFERED=1
USER structguard
VOLUME /var/lib/structguard
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["structguard", "serve"]
CMD ["--config", "/etc/structguard.toml", "--host", "0.0.0.0", "--port", "8080"]
