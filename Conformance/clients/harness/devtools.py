# SPDX-License-Identifier: Apache-2.0
"""A page in a headless Chromium that stays open, as the browser's own debugging protocol shows it."""

import base64
import http.client
import json
import os
import socket
import struct
import subprocess
import time
import urllib.parse


class OpenPage:
    def __init__(self, browser, directory, url, *options):
        self.browser = subprocess.Popen(
            [browser, "--headless=new", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={directory}/debugged", "--remote-debugging-port=0", *options, "about:blank"],
            stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(directory)})
        said = next((line for line in self.browser.stderr if "DevTools listening on" in line), None)
        if said is None:
            raise RuntimeError("the browser has no debugging port")
        port = urllib.parse.urlsplit(said.split()[-1]).port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/json/list")
        pages = [page for page in json.loads(connection.getresponse().read()) if page["type"] == "page"]
        connection.close()
        target = urllib.parse.urlsplit(pages[0]["webSocketDebuggerUrl"])
        self.socket = socket.create_connection((target.hostname, target.port), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {target.path} HTTP/1.1\r\nHost: {target.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.stream = self.socket.makefile("rb")
        while self.stream.readline().strip():
            pass
        self.last = 0
        # The browser's events, in order.
        self.events = []
        self.call("Page.navigate", url=url)

    def call(self, method, **parameters):
        self.last += 1
        content = json.dumps({"id": self.last, "method": method, "params": parameters}).encode()
        mask = os.urandom(4)
        masked = bytes(octet ^ mask[index % 4] for index, octet in enumerate(content))
        short = len(content) < 126
        length = bytes([0x80 | len(content)]) if short else b"\xfe" + struct.pack(">H", len(content))
        self.socket.sendall(b"\x81" + length + mask + masked)
        while True:
            size = self.stream.read(2)[1] & 127
            if size > 125:
                size = struct.unpack(*((">H", self.stream.read(2)) if size == 126 else (">Q", self.stream.read(8))))[0]
            message = json.loads(self.stream.read(size))
            if message.get("id") == self.last:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error'].get('message')}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def open(self, url):
        """Goes to `url` as if the person at the browser had typed it; returns once all of it is there."""
        self.call("Page.navigate", url=url)
        self.wait_for(url)

    def wait_for(self, url, patience=20):
        """Waits until the page at `url` is there, or another one in its place."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            there = self.value("[location.href, document.readyState]")
            if there == [url, "complete"]:
                return
            time.sleep(0.05)
        raise RuntimeError(f"the browser is at {there}, not at {url}")

    def value(self, expression):
        """The value of an expression, or of its promise, in the page; the error as text if it fails."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            return result["exceptionDetails"].get("exception", {}).get("description", "failed")
        return result["result"].get("value")

    def watch(self):
        """Has the browser tell of messages, errors and requests from now on; `events` has them."""
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.call(f"{domain}.enable")

    def told(self, method):
        """The parameters of the events of one kind."""
        return [event["params"] for event in self.events if event["method"] == method]

    def size(self, width, height, scale=1):
        """`scale` is how many pixels of a picture one of the page's has."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=width < 600)
        self.call("Emulation.setScrollbarsHidden", hidden=True)

    def prefer(self, scheme):
        """`dark` or `light`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key, text=None):
        codes = {"Tab": 9, "Enter": 13, " ": 32, "ArrowRight": 39}
        code = codes.get(key, ord(key.upper()) if len(key) == 1 else 0)
        text = text or ("\r" if key == "Enter" else key if len(key) == 1 else None)
        down = {"type": "keyDown", "key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", **down, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def wait_until(self, expression, patience=20):
        """Waits until an expression is true; returns whether it is."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if self.value(expression) is True:
                return True
            time.sleep(0.1)
        return False

    def picture(self, whole=False):
        """The page as it is seen, as PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        return base64.b64decode(data)

    def document(self, expected, patience=20):
        """The page's document as soon as it holds `expected`, or as it is when that takes too long."""
        end = time.monotonic() + patience
        shown = "document.documentElement ? document.documentElement.outerHTML : ''"
        while True:
            text = self.call("Runtime.evaluate", expression=shown)["result"].get("value", "")
            if expected in text or time.monotonic() > end:
                return text
            time.sleep(0.1)

    def close(self):
        self.stream.close()
        self.socket.close()
        self.browser.terminate()
        self.browser.wait(timeout=20)
        self.browser.stderr.close()
