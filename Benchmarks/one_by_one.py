# SPDX-License-Identifier: Apache-2.0
"""An origin, a Larder in front of it, and requests in turn, for `allocations` and `packaging/hot-functions`."""

import json
import os
import socket
import subprocess
import sys
import threading
import time

CONTENT = bytes(range(256)) * 4


class Origin:
    """Answers each request with content that no other has, which may be stored unless the path says otherwise."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        received = b""
        while octets := connection.recv(65536):
            received += octets
            while b"\r\n\r\n" in received:
                head, _, received = received.partition(b"\r\n\r\n")
                path = head.split(b" ")[1]
                lasting = b"no-store" if path.startswith(b"/pass/") else b"max-age=600"
                content = path.ljust(32) + CONTENT[32:]
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nDate: %s\r\nServer: origin\r\nContent-Type: application/octet-stream\r\n"
                    b"Last-Modified: Wed, 01 Jan 2025 00:00:00 GMT\r\nETag: \"%s\"\r\nCache-Control: %s\r\n"
                    b"Content-Length: %d\r\n\r\n%s" % (
                        time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime()).encode(), path[1:], lasting,
                        len(content), content))


class Daemon:
    """Larder with one loop, as `command` starts it: the program, perhaps with a tool before it."""

    def __init__(self, command, origin, directory, environment={}):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        configuration = directory / "larder.yaml"
        # JSON is YAML.
        configuration.write_text(json.dumps({
            "listen": f"127.0.0.1:{self.port}", "threads": 1, "admin": {"socket": str(directory / "socket")},
            "cache": {"path": str(directory / "store"), "memory": "64 MiB", "disk": "256 MiB"},
            "services": {"origin": {"baseURL": f"http://127.0.0.1:{origin.port}/", "mount": "/"}}}))
        self.process = subprocess.Popen(
            [*command, "serve", "--config", configuration], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=dict(os.environ, **environment))

    def connect(self):
        for _ in range(6000):
            try:
                return socket.create_connection(("127.0.0.1", self.port), timeout=30)
            except OSError:
                if self.process.poll() is not None:
                    sys.exit(f"larder has ended with {self.process.returncode}")
                time.sleep(0.02)
        sys.exit("larder does not listen")

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


def get(connection, path):
    connection.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path)
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, content = received.partition(b"\r\n\r\n")
    while len(content) < len(CONTENT):
        content += connection.recv(65536)
    if not head.startswith(b"HTTP/1.1 200 ") or not content.startswith(path):
        sys.exit(f"{path.decode()} was answered with {head.decode()}")
    return head
