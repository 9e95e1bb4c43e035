# The gateway as an image. Settings: /etc/structguard.toml; state: the volume /var/lib/structguard.
#
#   docker build -t structguard .
#   docker run -p 8080:8080 -e GATEWAY_TOKEN -v ./structguard.toml:/etc/structguard.toml:ro structguard
#
# It listens on all interfaces, so the settings need a token: [auth] token_envs = ["GATEWAY_TOKEN"].
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY structguard ./structguard
RUN python -m venv /opt/structguard \
 && /opt/structguard/bin/pip install --no-cache-dir --constraint constraints.txt '.[gateway,redis,bedrock]'

FROM python:3.13-slim
LABEL org.opencontainers.image.title="structguard" \
      org.opencontainers.image.description="A gateway for structured outputs that survive endpoints which refuse, ignore or mangle them" \
      org.opencontainers.image.licenses="MIT"
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
