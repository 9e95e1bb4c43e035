"""
The gateway beside a bare proxy on one loopback upstream: CPU a request, and what it adds in time.

Gateways run on core 1, upstream and load generator on core 0. The two sides of a cell take turns in
short bursts, so that a ratio is of one moment, however busy the machine is; shown are medians.

    python -m benchmarks.gateway [--rounds N] [--seconds S] [--peers] [--page]

`--peers` measures other gateways too, `--page` writes docs/gateway-speed.md. Needs a C compiler and
taskset.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.gateway_cells import Cell, Row
from benchmarks.gateway_page import page, table
from benchmarks.gateway_peers import Peer, installed
from benchmarks.gateway_servers import Server, burst, free_port, started
from benchmarks.upstream import HERE, Upstream, serve

DOCS = Path(__file__).resolve().parents[1] / "docs"
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
CONFIG = """\
[providers.up]
base_url = "{url}/v1"
api = "{api}"
credential = "client"
[endpoints.responses]
enabled = true
[endpoints.chat_completions]
enabled = true
[guard]
memo = "memory:"
[store]
url = "{store}"
limit_bytes = 8388608
[log]
access = false
level = "error"
"""


PASSING = (
    Cell("chat", "guard", CHAT, "req_chat", 1.3),
    Cell("responses, not kept", "guard", RESPONSES, "req_unkept", 1.3),
    Cell("responses, kept in memory", "guard", RESPONSES, "req_responses", 1.3),
    Cell("chat stream, no format", "guard", CHAT, "req_plain_stream", 1.3),
    Cell("chat stream", "guard", CHAT, "req_chat_stream", 1.3),
    Cell("responses stream", "guard", RESPONSES, "req_responses_stream", 1.3),
)
REST = (
    Cell("responses, kept on disk", "disk", RESPONSES, "req_responses", 0.0),
    Cell("a remembered refusal", "guard", CHAT, "req_chat_refuse400", 1.1,
         ("guard", CHAT, "req_chat")),
    Cell("responses over chat", "chat", RESPONSES, "req_responses", 2.0,
         ("reference", CHAT, "req_chat")),
    Cell("responses over chat, stream", "chat", RESPONSES, "req_responses_stream", 2.0,
         ("reference", CHAT, "req_chat_stream")),
    Cell("chat over responses", "responses", CHAT, "req_chat", 2.0,
         ("reference", RESPONSES, "req_responses")),
    Cell("chat over responses, stream", "responses", CHAT, "req_chat_stream", 2.0,
         ("reference", RESPONSES, "req_responses_stream")),
    Cell("chat, one connection", "guard", CHAT, "req_chat", 1.3, connections=1),
)  # fmt: skip
PEER_ROUNDS = 5
ASKED_OF_PEERS = ("chat", "chat stream, no format", "responses, not kept", "responses stream")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print the table, write the page where that is asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--peers", action="store_true", help="other gateways too")
    parser.add_argument("--page", action="store_true", help="write docs/gateway-speed.md")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    args = parser.parse_args(argv)
    cells = [cell for cell in (*PASSING, *REST) if args.only in cell.name]
    if not cells or (args.page and args.only):
        parser.error("--only names no row, or the page would lack the others")
    for needed in ("cc", "taskset"):
        if shutil.which(needed) is None:
            raise SystemExit(f"this benchmark needs {needed}")
    os.sched_setaffinity(0, {0})  # the upstream inherits it
    with tempfile.TemporaryDirectory() as directory, serve() as upstream, ExitStack() as stack:
        place = Path(directory)
        tool = place / "loadgen"
        subprocess.run(["cc", "-O2", "-o", tool, HERE / "loadgen.c"], check=True)  # noqa: S603, S607
        _more_requests(upstream)
        servers = own_servers(stack, place, upstream)
        memory = {name: server.memory() for name, server in servers.items()}
        rows = measured(tool, servers, upstream, cells, args.rounds, args.seconds)
        shown = [table(rows), _held(servers, memory)]
        if args.peers:
            shown += _beside(tool, stack, place, upstream, servers["reference"], args.seconds)
    print("\n".join(shown))
    if args.page:
        (DOCS / "gateway-speed.md").write_text(page(shown), encoding="utf-8")


def _more_requests(upstream: Upstream) -> None:
    plain = {**upstream.request("req_chat_stream")}
    del plain["response_format"]
    unkept = {**upstream.request("req_responses"), "store": False}
    for name, body in (("req_plain_stream", plain), ("req_unkept", unkept)):
        (upstream.payloads / f"{name}.json").write_text(json.dumps(body))


def own_servers(stack: ExitStack, place: Path, upstream: Upstream) -> Mapping[str, Server]:
    """The reference, and the gateway: over both wires (responses in memory, on disk), over one of them."""
    probe = (CHAT, (upstream.payloads / "req_chat.json").read_bytes())
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "--no-access-log", "--log-level", "critical",
               "--loop", "uvloop", "--http", "httptools", "--port", str(port),
               "benchmarks.upstream.reference:app"]  # fmt: skip
    env = {"UPSTREAM": upstream.url}
    made = {"reference": stack.enter_context(started(command, port, probe, env=env))}
    for name, api in (("guard", ""), ("disk", ""), ("chat", "chat"), ("responses", "responses")):
        file = place / f"{name}.toml"
        store = f"disk:{place}/store" if name == "disk" else "memory:"
        file.write_text(CONFIG.format(url=upstream.url, api=api, store=store))
        port = free_port()
        command = [sys.executable, "-m", "structguard", "serve", "--config", str(file),
                   "--port", str(port)]  # fmt: skip
        made[name] = stack.enter_context(started(command, port, probe))
    return made


def measured(
    tool: Path,
    servers: Mapping[str, Server],
    upstream: Upstream,
    cells: Iterable[Cell],
    rounds: int,
    seconds: float,
) -> list[Row]:
    """Every cell, round by round; the first round warms up."""
    rows = [Row(cell) for cell in cells]
    for at in range(rounds + 1):
        for row in rows:
            cell = row.cell
            name, path, body = cell.base
            runs = [
                (row.base, servers[name], path or cell.path, body or cell.body),
                (row.ours, servers[cell.gateway], cell.path, cell.body),
            ]
            for kept, server, where, what in runs if at % 2 else reversed(runs):
                request = upstream.payloads / f"{what}.json"
                try:
                    found = burst(tool, server, where, request, cell.connections, seconds)
                except ValueError as error:
                    raise SystemExit(str(error)) from error
                if at:
                    kept.append(found)
    return rows


def _held(servers: Mapping[str, Server], before: Mapping[str, float]) -> str:
    lines = [
        "| process | CPU s to the first answer | MB then | MB at the end |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {one.boot:.2f} | {before[name]:.0f} | {one.memory():.0f} |"
        for name, one in servers.items()
    ]
    return "\n".join(["", *lines, ""])


def _beside(
    tool: Path,
    stack: ExitStack,
    place: Path,
    upstream: Upstream,
    reference: Server,
    seconds: float,
) -> list[str]:
    """The table of the other gateways: CPU a request against the reference's."""
    probe = (CHAT, (upstream.payloads / "req_chat.json").read_bytes())
    ports = [free_port() for _ in range(3)]
    cells = [cell for cell in PASSING if cell.name in ASKED_OF_PEERS]
    lines = [
        f"| CPU a request against the reference | {' | '.join(c.name for c in cells)} | start, CPU s | MB |",
        "|---" * (len(cells) + 3) + "|",
    ]
    for (name, peer), port in zip(
        installed(upstream.url, place, ports).items(), ports, strict=True
    ):
        if not isinstance(peer, Peer):
            lines.append(f"| {name} (skipped: {peer}) |" + " |" * (len(cells) + 2))
            continue
        server = stack.enter_context(
            started(peer.command, port, probe, headers=peer.headers, env=peer.env, patience=180)
        )
        found = []
        for cell in cells:
            both = {"reference": reference, cell.gateway: server}
            try:
                (row,) = measured(tool, both, upstream, [cell], PEER_ROUNDS, max(seconds, 0.5))
                found.append(f"{row.ratio():.2f}")
            except SystemExit:
                found.append("-")
        lines.append(
            f"| {name} | {' | '.join(found)} | {server.boot:.1f} | {server.memory():.0f} |"
        )
    return ["\n".join(lines), ""]


if __name__ == "__main__":
    main()
