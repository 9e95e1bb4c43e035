"""The status page served on loopback, and a headless Chromium driven over its DevTools protocol."""

from __future__ import annotations

import json
import shutil
import subprocess
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import aiohttp
import anyio

from structguard.gateway.page import HEADERS, STYLE_PATH, STYLESHEET

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-port=0",
)  # fmt: skip


@contextmanager
def serving(page: Callable[[], str]) -> Iterator[tuple[str, list[str]]]:
    """The page at an address, and what was asked: paths, a POST with its body."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            if self.path == STYLE_PATH:
                self._answer(200, {"content-type": "text/css"}, STYLESHEET)
            elif self.path == "/":
                self._answer(200, HEADERS, page())
            else:
                self._answer(404, {"content-type": "text/plain"}, "no")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            asked.append(f"{self.path} {body.decode()}")
            self._answer(303, {"location": "/"}, "")

        def _answer(self, status: int, headers: Mapping[str, str], text: str) -> None:
            body = text.encode()
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", asked
        server.shutdown()


class Tab:
    """One tab; `told` holds what the page wrote to its console and what a policy stopped."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.told: list[str] = []
        self._events: list[str] = []

    async def do(self, method: str, **params: object) -> dict[str, object]:
        """Send one command and give its result; events met on the way are kept."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        while True:
            message = await self._socket.receive_json(timeout=20)
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, object] = message["result"]
                return result
            self._note(message)

    async def until(self, event: str) -> None:
        """Wait for an event that came since the last wait, or comes now."""
        while event not in self._events:
            self._note(await self._socket.receive_json(timeout=20))
        self._events.clear()

    async def open(self, url: str, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Load a page without scripts at a width in CSS pixels."""
        for domain in ("Page", "Log", "Runtime", "DOM", "Network"):
            await self.do(f"{domain}.enable")
        await self.do("Emulation.setScriptExecutionDisabled", value=True)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.do("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700}
        await self.do("Emulation.setDeviceMetricsOverride", **size)
        await self.do("Page.navigate", url=url)
        await self.until("Page.loadEventFired")

    async def content_width(self) -> float:
        """How wide the page is; more than the screen means that it scrolls sideways."""
        found = await self.do("Page.getLayoutMetrics")
        size = found["cssContentSize"]
        assert isinstance(size, dict)
        return float(size["width"])

    async def find(self, selector: str) -> int:
        """The node a selector finds first."""
        document = (await self.do("DOM.getDocument"))["root"]
        assert isinstance(document, dict)
        found = await self.do("DOM.querySelector", nodeId=document["nodeId"], selector=selector)
        number = found["nodeId"]
        assert isinstance(number, int)
        assert number, selector
        return number

    async def click(self, selector: str) -> None:
        """Press the mouse in the middle of an element."""
        node = await self.find(selector)
        await self.do("DOM.scrollIntoViewIfNeeded", nodeId=node)
        model = (await self.do("DOM.getBoxModel", nodeId=node))["model"]
        assert isinstance(model, dict)
        corners: list[float] = model["content"]
        at = {"x": sum(corners[::2]) / 4, "y": sum(corners[1::2]) / 4}
        self._events.clear()
        for kind in ("mousePressed", "mouseReleased"):
            await self.do("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    async def picture(self, path: Path) -> int:
        """The whole page as a PNG; its size in bytes."""
        shot = await self.do("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return await anyio.Path(path).write_bytes(b64decode(str(shot["data"])))

    async def source(self) -> str:
        """The document as the browser understood it."""
        node = await self.find("html")
        return str((await self.do("DOM.getOuterHTML", nodeId=node))["outerHTML"])

    def _note(self, message: Mapping[str, object]) -> None:
        method = str(message.get("method"))
        self._events.append(method)
        if method in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            self.told.append(json.dumps(message))


@asynccontextmanager
async def chromium(profile: Path) -> AsyncIterator[Tab]:
    """A new browser with an empty profile and one tab."""
    assert PROGRAM is not None
    process = await anyio.open_process(
        [PROGRAM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = anyio.Path(profile / "DevToolsActivePort")
        with anyio.fail_after(30):
            while not (await port.exists() and "\n" in await port.read_text()):  # noqa: ASYNC110
                await anyio.sleep(0.05)  # another program writes it
        number = (await port.read_text()).splitlines()[0]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{number}/json/list") as listed:
                tabs = await listed.json()
            address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
            async with session.ws_connect(address, max_msg_size=0) as socket:
                yield Tab(socket)
    finally:
        process.terminate()
        with anyio.CancelScope(shield=True):
            await process.wait()
