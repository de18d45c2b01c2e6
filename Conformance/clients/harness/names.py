# SPDX-License-Identifier: Apache-2.0
"""A scripted name server (RFC 1035), for a namespace of a case's own."""

import socket
import struct
import threading
import time

A, CNAME, AAAA = 1, 5, 28
NO_ERROR, SERVER_FAILURE, NAME_ERROR = 0, 2, 3


class Name:
    """What there is to say about a name: addresses of both families, the name it is an alias of, or an error. `delay`
    in seconds; `silent` says nothing at all."""

    def __init__(self, *addresses, alias=None, code=NO_ERROR, ttl=1, delay=0.0, silent=False):
        self.addresses = addresses
        self.alias = alias
        self.code = code
        self.ttl = ttl
        self.delay = delay
        self.silent = silent

    def records(self, kind, names):
        """The records of an answer about `kind`, as (kind, data)."""
        if self.alias:
            target = b"".join(bytes([len(label)]) + label.encode() for label in self.alias.split(".")) + b"\0"
            return [(CNAME, target)] + (names[self.alias].records(kind, names) if self.alias in names else [])
        family = socket.AF_INET6 if kind == AAAA else socket.AF_INET
        return [(kind, socket.inet_pton(family, address)) for address in self.addresses
                if (":" in address) == (kind == AAAA) and kind in (A, AAAA)]


class NameServer:
    """Answers from `names`, which may be changed while it runs; a name that is not there does not exist."""

    def __init__(self, address, names):
        self.names = names
        self.asked = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                question, sender = self.socket.recvfrom(4096)
            except OSError:
                return
            threading.Thread(target=self.answer, args=(question, sender), daemon=True).start()

    def answer(self, question, sender):
        # An empty datagram asks whether anybody is here.
        if len(question) < 17:
            return
        labels, at = [], 12
        while length := question[at]:
            labels.append(question[at + 1:at + 1 + length].decode().lower())
            at += 1 + length
        text, kind = ".".join(labels), struct.unpack("!H", question[at + 1:at + 3])[0]
        self.asked.append((text, kind))
        name = self.names.get(text, Name(code=NAME_ERROR))
        if name.silent:
            return
        time.sleep(name.delay)
        records = [] if name.code else name.records(kind, self.names)
        # Each record is about the name in the question or, after an alias, about that: where its data begins.
        owner, answer = 12, b""
        for record, data in records:
            head = struct.pack("!HHHIH", 0xC000 | owner, record, 1, name.ttl, len(data))
            if record == CNAME:
                owner = at + 5 + len(answer) + len(head)
            answer += head + data
        head = question[:2] + struct.pack("!HHHHH", 0x8180 | name.code, 1, len(records), 0, 0)
        try:
            self.socket.sendto(head + question[12:at + 5] + answer, sender)
        except OSError:
            pass

    def close(self):
        self.socket.close()
