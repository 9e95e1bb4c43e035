"""
Other gateways for the benchmark, each in an environment of its own; one that is missing is skipped.

nginx (any `nginx` on the PATH, one worker, no logs), the LiteLLM proxy (`.venv-litellm`, see `make e2e`)
and Portkey's gateway (`.venv-portkey`: `npm install @portkey-ai/gateway` there).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LITELLM = ROOT / ".venv-litellm" / "bin" / "litellm"
_PORTKEY = ROOT / ".venv-portkey/node_modules/@portkey-ai/gateway/build/start-server.js"
_LITELLM_YAML = """\
model_list:
  - model_name: bench-model
    litellm_params: {{model: openai/bench-model, api_base: "{url}/v1", api_key: sk-bench}}
litellm_settings: {{drop_params: true, num_retries: 0, telemetry: false, request_timeout: 60}}
general_settings: {{disable_spend_logs: true}}
router_settings: {{num_retries: 0, allowed_fails: 100000}}
"""
_NGINX_CONF = """\
worker_processes 1; daemon off; master_process off; pid {dir}/nginx.pid; error_log {dir}/nginx.err crit;
events {{ worker_connections 2048; }}
http {{
  access_log off; client_body_temp_path {dir}/b; proxy_temp_path {dir}/p; fastcgi_temp_path {dir}/f;
  uwsgi_temp_path {dir}/u; scgi_temp_path {dir}/s; keepalive_requests 100000000;
  upstream up {{ server {host}; keepalive 256; keepalive_requests 100000000; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; client_max_body_size 50m;
    }}
  }}
}}
"""


@dataclass(frozen=True)
class Peer:
    """How another gateway is started on a port."""

    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Sequence[str] = ()


def installed(url: str, place: Path, ports: Sequence[int]) -> Mapping[str, Peer | str]:
    """By name: how it is started, or why it is skipped."""
    return {
        "nginx": _nginx(url, place, ports[0]),
        "Portkey": _portkey(url, ports[1]),
        "LiteLLM proxy": _litellm(url, place, ports[2]),
    }


def _nginx(url: str, place: Path, port: int) -> Peer | str:
    program = shutil.which("nginx")
    if program is None:
        return "no nginx on the PATH"
    home = place / "nginx"
    home.mkdir()
    conf = home / "nginx.conf"
    conf.write_text(_NGINX_CONF.format(dir=home, port=port, host=url.removeprefix("http://")))
    return Peer([program, "-p", str(home), "-e", f"{home}/nginx.err", "-c", str(conf)])


def _portkey(url: str, port: int) -> Peer | str:
    node = shutil.which("node")
    if node is None or not _PORTKEY.exists():
        return f"no {_PORTKEY.relative_to(ROOT)}"
    return Peer(
        [node, str(_PORTKEY), f"--port={port}", "--headless"],
        {"NODE_ENV": "production", "TRUSTED_CUSTOM_HOSTS": "127.0.0.1,localhost"},
        ("x-portkey-provider: openai", f"x-portkey-custom-host: {url}/v1"),
    )


def _litellm(url: str, place: Path, port: int) -> Peer | str:
    if not _LITELLM.exists():
        return f"no {_LITELLM.relative_to(ROOT)}"
    conf = place / "litellm.yaml"
    conf.write_text(_LITELLM_YAML.format(url=url))
    return Peer(
        [str(_LITELLM), "--config", str(conf), "--host", "127.0.0.1", "--port", str(port),
         "--num_workers", "1"],
        {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR", "HF_HUB_OFFLINE": "1",
         "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"},
    )  # fmt: skip
