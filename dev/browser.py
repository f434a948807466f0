"""Chromium without a window, driven through its DevTools protocol over pipes.

The protocol's messages are JSON that ends with a zero byte (https://chromedevtools.github.io/devtools-protocol/). The
browser reads descriptor 3 and writes descriptor 4.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

__all__ = ["Browser", "find_browser"]

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")


def find_browser() -> str | None:
    """The browser's command, None where there is none (Debian: chromium)."""
    return next((name for name in NAMES if shutil.which(name) is not None), None)


class Browser:
    """A browser with one page, without a network; `complaints` are its errors, warnings and console messages."""

    def __init__(self, command: str, width: int = 1400, height: int = 900) -> None:
        """Start `command`. Raises OSError if that cannot be."""
        self.complaints: list[str] = []
        self._folder = tempfile.TemporaryDirectory()
        self._pending: list[dict[str, Any]] = []
        self._buffer = b""
        self._last = 0
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        line = [
            *(command, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"),
            *(
                "--no-first-run",
                "--host-resolver-rules=MAP * ~NOTFOUND",
                f"--user-data-dir={self._folder.name}",
            ),
            *(f"--window-size={width},{height}", "--hide-scrollbars", "about:blank"),
        ]
        # A shell gives the pipes the numbers that the browser expects.
        script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "browser", *line],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._session = ""
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = str(attached["sessionId"])
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._out)  # the browser ends when nobody writes any more
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command. Raises RuntimeError if it fails or the browser is gone."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error'].get('message')}")
                return answer["result"]
            self._pending.append(answer)

    def open(self, file: Path, link: str = "") -> None:
        """Open a file of the disk, at a link, anew, and wait until it is loaded and drawn."""
        self.call("Page.navigate", url="about:blank")
        self._wait("Page.loadEventFired")
        self.call("Page.navigate", url=f"{file.absolute().as_uri()}#{link}")
        self._wait("Page.loadEventFired")
        self.settle()

    def settle(self) -> None:
        """Wait until what is scheduled for the next frames is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, script: str) -> Any:
        """The value of an expression. Raises RuntimeError with what it throws."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"].get("exception", {}).get("description")))
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key, by the name that events have."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def click(self, selector: str) -> None:
        """Click the middle of the first element that a selector finds. Raises RuntimeError if there is none."""
        place = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        x, y = self.run(
            f"(({{x, y, width, height}}) => [x + Math.min(width, 40) / 2, y + height / 2])({place})"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def hover(self, x: float, y: float) -> None:
        """Move the pointer to a place of the view."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def resize(self, width: int, height: int) -> None:
        """Give the view another size."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def prefer(self, scheme: str) -> None:
        """Have the system prefer a `dark` or `light` scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.settle()

    def screenshot(self, path: Path) -> None:
        """Write what is in view as a PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _wait(self, event: str) -> None:
        for at, message in enumerate(self._pending):
            if message.get("method") == event:
                del self._pending[: at + 1]
                return
        self._pending.clear()
        while self._read().get("method") != event:
            pass

    def _read(self) -> dict[str, Any]:
        """The next message; what the page complains of is noted."""
        while b"\0" not in self._buffer:
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(message["params"]["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(json.dumps(message["params"]["args"]))
            case "Log.entryAdded" if message["params"]["entry"]["level"] in ("warning", "error"):
                # Others are the browser's own: of a slow network, where the machine is busy.
                self.complaints.append(message["params"]["entry"]["text"])
            case _:
                pass
        return message
