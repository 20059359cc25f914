"""A headless Chromium, driven over a pair of pipes by its own protocol: no driver, no package, no network."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FOUND = os.environ.get("CHROME") or next((path for name in NAMES if (path := shutil.which(name))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage",
    "--window-size=1300,900", "--remote-debugging-pipe",
)  # fmt: skip
CODES = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
PATIENCE = 60  # seconds until an answer that does not come is an error

needs_browser = pytest.mark.skipif(
    FOUND is None, reason="no Chromium on this machine: apt-get install chromium, or set CHROME to its path"
)


class Browser:
    """One page in one browser. `asked`: the address of every request; `errors`: every exception and complaint."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.errors: list[str] = []
        self._home = tempfile.mkdtemp(prefix="lookalike-browser-")
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        # The browser reads from its descriptor 3 and writes to 4.
        wires = f'exec 3<&{to_read} 4>&{to_write}; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", wires, "browser", str(FOUND), *FLAGS, f"--user-data-dir={self._home}"],
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._number, self._rest, self._session = 0, b"", ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)
        shutil.rmtree(self._home, ignore_errors=True)

    def open(self, page: Path | str) -> None:
        """Load a file, or an address, and wait until it is there."""
        url = page if isinstance(page, str) else page.as_uri()
        self._call("Page.navigate", url="about:blank")  # a mere change of the fragment would not load it again
        self._call("Page.navigate", url=url)
        self.wait(f"document.readyState === 'complete' && location.protocol === '{url.split(':')[0]}:'")

    def value(self, expression: str) -> Any:
        """What a JavaScript expression gives."""
        made = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in made, made["exceptionDetails"]
        return made["result"].get("value")

    def wait(self, expression: str) -> None:
        """Until the expression is true."""
        until = time.monotonic() + PATIENCE
        while not self.value(expression):
            assert time.monotonic() < until, f"never true: {expression}"
            time.sleep(0.02)

    def press(self, key: str) -> None:
        """A key, as a person would press it."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = CODES.get(key, 0)  # without it the browser's own controls, such as sliders, do not know the key
        for kind in ("keyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                text=text if kind == "keyDown" else "",
            )  # fmt: skip

    def type(self, text: str) -> None:
        """Text into what has the focus, as if pasted."""
        self._call("Input.insertText", text=text)

    def size(self, width: int, height: int) -> None:
        """Of the window, from now on."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def screenshot(self, path: Path) -> None:
        """What a person sees, as a PNG."""
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))

    def dark(self, yes: bool) -> None:
        """Whether the person's system is dark."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if yes else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def _call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.asked.append(event["params"]["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(event["params"]["exceptionDetails"]))
            case "Log.entryAdded":
                self.errors.append(event["params"]["entry"]["text"])

    def _read(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            piece = os.read(self._in, 1 << 16)
            assert piece, "the browser has gone"
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(message)
        return answer
