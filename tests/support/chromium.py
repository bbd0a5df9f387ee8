"""A headless Chromium, driven through its DevTools protocol over two pipes, without a library."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TIMEOUT_S = 60
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
    "--window-size=1280,900", "--remote-debugging-pipe",
)  # fmt: skip


def find_chromium():
    """Path of the browser, or None. `FORGE_CHROMIUM` names another one."""
    named = os.environ.get("FORGE_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One browser with one page.

    `problems` collects what the page logged as warning or error and exceptions that it did not
    catch; `requests` every address that it asked for.
    """

    def __init__(self, binary, profile):
        # Chromium reads commands from its file descriptor 3 and writes to 4.
        commands, self._out = os.pipe()
        self._in, answers = os.pipe()
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (commands, answers)]
        script = f'exec "$0" "$@" 3<&{theirs[0]} 4>&{theirs[1]}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, binary, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for fd in (commands, answers, *theirs):
            os.close(fd)
        self._buffer, self._number, self._session = b"", 0, None
        self.problems, self.requests = [], []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self):
        os.close(self._out)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)

    def send(self, method, **parameters):
        """Call a method of the protocol and wait for its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        wanted = self._number
        answer = self._wait(lambda message: message.get("id") == wanted)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def open(self, path):
        """Load a file and wait until its scripts have run."""
        self.problems.clear()
        self.requests.clear()
        self.send("Page.navigate", url=path.as_uri())
        self._wait(lambda message: message.get("method") == "Page.loadEventFired")

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def text(self, selector):
        """The visible text of the first element; empty if it is hidden."""
        return self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "return e.checkVisibility() ? e.innerText : ''; })()"
        )

    def count(self, selector):
        """How many elements there are."""
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def point_at(self, selector):
        """Move the mouse over the middle of the first element; returns the place."""
        x, y = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        return x, y

    def click(self, selector):
        """Click the middle of the first element."""
        x, y = self.point_at(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def dark(self, wanted):
        """Prefer dark pages or light ones."""
        value = "dark" if wanted else "light"
        self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": value}],
        )

    def screenshot(self, path, *, whole=True):
        """A picture of the page."""
        made = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(made["data"]))

    def _wait(self, wanted):
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            message = self._receive(deadline)
            self._note(message)
            if wanted(message):
                return message

    def _receive(self, deadline):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"Chromium did not answer in {TIMEOUT_S} s"
            part = os.read(self._in, 1 << 20)
            assert part, f"Chromium ended with {self._process.wait()}"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(parameters["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] != "log":
            self.problems.append(parameters["args"])
        elif method == "Log.entryAdded":
            self.problems.append(parameters["entry"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
