# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 on a plain socket, for what http.client would not send or would hide."""

import socket


class WireError(Exception):
    """The peer closed early, or sent something that is no HTTP/1.1."""


class Wire:
    def __init__(self, connection):
        self.connection = connection
        self.buffer = bytearray()
        self.interim = []
        self.trailers = {}

    @classmethod
    def connect(cls, port, timeout=20):
        return cls(socket.create_connection(("127.0.0.1", port), timeout))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.connection.close()

    def send(self, text):
        self.connection.sendall(text.encode("latin-1") if isinstance(text, str) else text)

    def fill(self):
        """Takes what has arrived; False at the end of what the peer sends."""
        part = self.connection.recv(1 << 18)
        self.buffer += part
        return bool(part)

    def is_quiet(self, seconds):
        """Whether nothing arrives for so long."""
        if self.buffer:
            return False
        before = self.connection.gettimeout()
        self.connection.settimeout(seconds)
        try:
            self.fill()
            return False
        except TimeoutError:
            return True
        finally:
            self.connection.settimeout(before)

    def line(self):
        while (end := self.buffer.find(b"\r\n")) < 0:
            if not self.fill():
                raise WireError(f"the connection ended inside a line: {bytes(self.buffer)!r}")
        text = self.buffer[:end].decode("latin-1")
        del self.buffer[: end + 2]
        return text

    def exactly(self, count):
        while len(self.buffer) < count:
            if not self.fill():
                raise WireError(f"the connection ended {count - len(self.buffer)} octets early")
        octets = bytes(self.buffer[:count])
        del self.buffer[:count]
        return octets

    def fields(self):
        """A header or trailer section as a dictionary of lower-case names; repeated fields are joined."""
        found = {}
        while line := self.line():
            name, _, value = line.partition(":")
            name, value = name.lower(), value.strip()
            found[name] = f"{found[name]}, {value}" if name in found else value
        return found

    def head(self):
        """(start line, fields)"""
        return self.line(), self.fields()

    def chunks(self):
        """The content of each chunk as it comes; the trailers are in `trailers` afterwards."""
        while size := int(self.line().split(";")[0], 16):
            yield self.exactly(size)
            if self.line():
                raise WireError("a chunk is longer than its size says")
        self.trailers = self.fields()

    def content(self, fields, without=False):
        """The content that a message with these fields has; up to the end of the connection for want of a length."""
        if without:
            return b""
        if "chunked" in fields.get("transfer-encoding", ""):
            return b"".join(self.chunks())
        if "content-length" in fields:
            return self.exactly(int(fields["content-length"]))
        while self.fill():
            pass
        rest, self.buffer = bytes(self.buffer), bytearray()
        return rest

    def response(self, to="GET"):
        """The next final response: (status, fields, content). Interim ones are in `interim`."""
        self.interim = []
        while True:
            line, fields = self.head()
            status = int(line.split()[1])
            if status >= 200 or status == 101:
                break
            self.interim.append((status, fields))
        return status, fields, self.content(fields, without=to == "HEAD" or status in (101, 204, 304))

    def request(self):
        """The next request: (method, target, fields), content not yet read; None when the peer is done."""
        while not self.buffer:
            if not self.fill():
                return None
        line, fields = self.head()
        method, target, _ = line.split(" ")
        return method, target, fields

    def request_content(self, fields):
        has_content = "transfer-encoding" in fields or "content-length" in fields
        return self.content(fields) if has_content else b""
