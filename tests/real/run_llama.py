"""Start the llama.cpp server of the wheel `xllamacpp`: run_llama.py MODEL.gguf PORT ALIAS."""

from __future__ import annotations

import importlib
import sys
import threading


def main(model: str, port: str, alias: str) -> None:
    """Serve until killed."""
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = int(port)
    params.model_alias = [alias] if isinstance(params.model_alias, list) else {alias}
    params.n_ctx, params.n_parallel, params.n_predict = 8192, 4, 400
    params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.use_jinja = params.enable_chat_template = True
    params.sampling.temp = 0.0
    server = llama.Server(params)
    print("listening", server.listening_address, flush=True)  # noqa: T201
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:4])
