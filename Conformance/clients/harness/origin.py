# SPDX-License-Identifier: Apache-2.0
"""Origins on loopback that write down what they are asked."""

import dataclasses
import http.server
import socket
import socketserver
import threading
import urllib.parse

from harness.wire import Wire, WireError


@dataclasses.dataclass
class Asked:
    """One request as the origin got it."""

    method: str
    path: str
    fields: dict
    status: int


@dataclasses.dataclass
class Answer:
    """The answer of a route; a validator makes it answer 304 to a request that has it already."""

    content: bytes = b""
    status: int = 200
    fields: dict = dataclasses.field(default_factory=dict)


def fresh(content, kind="text/plain", seconds=3600, **fields):
    """An answer that any cache may keep for a while."""
    content = content.encode() if isinstance(content, str) else content
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    return Answer(content, 200, {"Content-Type": kind, "Cache-Control": f"max-age={seconds}", **named})


class Origin:
    """Answers from `routes`: a path (without query) or None for all others, to an Answer or a function of a path."""

    def __init__(self, routes, tls=None, address="127.0.0.1", port=0):
        self.routes = routes
        self.address = address
        self.asked = []
        self.scheme = "https" if tls else "http"
        self.server = Server((address, port), make_handler(self))
        if tls:
            # The handshake is left to the connection's own thread.
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def authority(self):
        return f"{self.address}:{self.port}"

    @property
    def url(self):
        return f"{self.scheme}://{self.authority}"

    def answer(self, path):
        # A client may ask for /./x, which is /x whether somebody on the way removes the dot or not.
        plain = urllib.parse.urlsplit(path).path.replace("/./", "/")
        route = self.routes.get(plain, self.routes.get(None))
        if route is None:
            return Answer(b"no such thing\n", 404, {"Cache-Control": "max-age=3600"})
        return route(path) if callable(route) else route

    def forget(self):
        """Starts a new list of what was asked."""
        self.asked = []

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def server_bind(self):
        # Not HTTPServer's own: it asks the resolver for this host's name, which can take seconds.
        socketserver.TCPServer.server_bind(self)

    def handle_error(self, request, client_address):
        """A client that leaves is no error of the origin."""


def make_handler(origin):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def log_message(self, *_):
            pass

        def respond(self):
            length = int(self.headers.get("Content-Length", 0))
            self.rfile.read(length)
            fields = {name.lower(): value for name, value in self.headers.items()}
            origin.asking = fields
            answer = origin.answer(self.path)
            validator = answer.fields.get("ETag")
            unchanged = validator is not None and fields.get("if-none-match") == validator
            status = 304 if unchanged else answer.status
            origin.asked.append(Asked(self.command, self.path, fields, status))
            self.send_response(status)
            for name, value in answer.fields.items():
                self.send_header(name, value)
            if not unchanged:
                self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            if not unchanged and self.command != "HEAD":
                self.wfile.write(answer.content)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = respond

    return Handler


class RawOrigin:
    """Runs `script(wire)` for each connection, in a thread of its own."""

    def __init__(self, script):
        self.script = script
        self.problems = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def authority(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"http://{self.authority}"

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.settimeout(60)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with Wire(connection) as wire:
            try:
                self.script(wire)
            except (OSError, WireError) as error:
                self.problems.append(repr(error))

    def close(self):
        # Closing alone would leave accept() waiting.
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
