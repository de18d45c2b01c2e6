# SPDX-License-Identifier: Apache-2.0
"""Sockets as a misbehaving peer uses them: pieces, pauses, half-closes and resets."""

import asyncio
import socket
import struct


class Ended(Exception):
    """The other side ended or broke the connection."""


class Slow(Exception):
    """Nothing came for so long that nothing will."""


class Wire:
    """One end of a connection."""

    def __init__(self, connection):
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = connection
        self.input = bytearray()
        # Longer than all times of the daemon together that may pass before an answer.
        self.patience = 120

    @staticmethod
    async def to(port, small_window=False):
        connection = socket.socket()
        if small_window:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        except OSError as error:
            connection.close()
            raise Ended(str(error)) from error
        return Wire(connection)

    async def send(self, octets):
        try:
            await asyncio.wait_for(
                asyncio.get_running_loop().sock_sendall(self.connection, octets), self.patience)
        except TimeoutError as error:
            raise Slow("sending") from error
        except OSError as error:
            raise Ended(str(error)) from error

    async def send_pieces(self, octets, size, pause=0.0):
        for start in range(0, len(octets), size):
            await self.send(octets[start:start + size])
            await asyncio.sleep(pause)

    async def receive(self, limit=65536):
        """Adds what comes next to `input`."""
        try:
            octets = await asyncio.wait_for(
                asyncio.get_running_loop().sock_recv(self.connection, limit), self.patience)
        except TimeoutError as error:
            raise Slow("receiving") from error
        except OSError as error:
            raise Ended(str(error)) from error
        if not octets:
            raise Ended("end")
        self.input += octets

    async def take(self, count):
        while len(self.input) < count:
            await self.receive()
        octets = bytes(self.input[:count])
        del self.input[:count]
        return octets

    async def take_line(self, mark=b"\r\n"):
        while (end := self.input.find(mark)) < 0:
            await self.receive()
        octets = bytes(self.input[:end])
        del self.input[:end + len(mark)]
        return octets

    async def take_head(self):
        """(start line, fields with lower-case names as a list of pairs)."""
        lines = (await self.take_line(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = []
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                raise ValueError(f"not a field line: {line[:80]!r}")
            fields.append((name.lower(), value.strip()))
        return lines[0], fields

    async def take_chunked(self, each):
        """Calls `each` with every chunk, and reads the trailers."""
        while True:
            size = int((await self.take_line()).split(b";")[0], 16)
            if size == 0:
                while await self.take_line():
                    pass
                return
            each(await self.take(size))
            if await self.take(2) != b"\r\n":
                raise ValueError("a chunk that does not end where it says")

    def end_sending(self):
        try:
            self.connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def reset(self):
        try:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
        self.connection.close()

    def close(self):
        self.connection.close()


def value(fields, name):
    """The value of a field, or None."""
    return next((text for found, text in fields if found == name), None)
