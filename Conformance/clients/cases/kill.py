# SPDX-License-Identifier: Apache-2.0
"""Stored responses survive the process, however it ends."""

import hashlib
import itertools
import threading
import time

from harness.case import case, expect, expect_equal, is_hit
from harness.wire import Wire, WireError

CLIENTS = 8


def content_of(number):
    return hashlib.sha256(str(number).encode()).digest() * 128


def objects(asked):
    """An origin's script: object N for /N, fresh for a day."""

    def script(wire):
        while request := wire.request():
            number = int(request[1].removeprefix("/"))
            asked.append(number)
            head = b"HTTP/1.1 200 OK\r\nContent-Length: 4096\r\nCache-Control: max-age=86400\r\n\r\n"
            wire.send(head + content_of(number))

    return script


class Crowd:
    """Clients that fetch object after object, each on a connection of its own; `done` is when each object arrived."""

    def __init__(self, daemon, origin, numbers):
        self.daemon, self.origin, self.numbers = daemon, origin, numbers
        self.lock = threading.Lock()
        self.done, self.hits, self.wrong, self.problems = {}, set(), [], []
        self.threads = [threading.Thread(target=self.fetch_all, daemon=True) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def fetch_all(self):
        try:
            with Wire.connect(self.daemon.port) as client:
                while (number := self.next()) is not None:
                    client.send(f"GET {self.origin.url}/{number} HTTP/1.1\r\nHost: {self.origin.authority}\r\n\r\n")
                    status, fields, content = client.response()
                    self.done[number] = time.monotonic()
                    if status != 200 or content != content_of(number):
                        self.wrong.append(number)
                    if is_hit(fields):
                        self.hits.add(number)
        except (OSError, WireError) as error:
            self.problems.append(repr(error))

    def next(self):
        with self.lock:
            return next(self.numbers, None)

    def join(self):
        for thread in self.threads:
            thread.join()


@case("kill", "kill -9 while objects are stored: what arrived a second before is still there, and nothing is wrong")
def kill(context):
    count = 100_000 if context.full else 5_000
    asked = []
    origin = context.raw_origin(objects(asked))
    daemon = context.daemon()
    crowd = Crowd(daemon, origin, itertools.count())
    while len(crowd.done) < count:
        expect(not crowd.problems, f"a client failed: {crowd.problems[:1]}")
        time.sleep(0.01)
    time.sleep(1.2)
    killed = time.monotonic()
    daemon.kill()
    crowd.join()
    expect_equal(crowd.wrong, [], "objects that arrived wrong before the kill")

    settled = [number for number, when in crowd.done.items() if when <= killed - 1]
    daemon.start()
    asked.clear()
    again = Crowd(daemon, origin, iter(sorted(crowd.done)))
    again.join()
    expect_equal(again.problems, [], "clients that failed after the restart")
    expect_equal(again.wrong, [], "objects that are wrong after the restart")
    hits = sum(number in again.hits for number in settled)
    share = hits / len(settled)
    expect(share >= 0.99, f"only {hits} of {len(settled)} objects that had been there for a second are hits")
    patience = 1 if context.full else 3
    expect(daemon.seconds_to_ready < patience, f"the restart took {daemon.seconds_to_ready:.2f} s, of {patience} s")
    return f"{share:.2%} of {len(settled)} are hits; ready {daemon.seconds_to_ready:.2f} s after the restart"


@case("kill", "kill -9 right after an answer: what was invalidated or wiped stays so")
def kill_after_answers(context):
    asked = []
    origin = context.raw_origin(objects(asked))
    daemon = context.daemon()

    def get(number):
        with Wire.connect(daemon.port) as client:
            client.send(f"GET {origin.url}/{number} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n")
            expect_equal(client.response()[2], content_of(number), f"the content of /{number}")

    changes = (
        ("invalidate", f"{origin.url}/1"), ("wipe", f"{origin.url}/1"),
        ("invalidate", "--match", f"{origin.url}/1*"), ("wipe", "--match", f"{origin.url}/1*"),
    )
    for words in changes * (10 if context.full else 2):
        for number in (1, 2):
            get(number)
        # By now they are on disk.
        time.sleep(1.2)
        context.run([context.program, *words, "--socket", daemon.socket])
        daemon.kill()
        daemon.start()
        asked.clear()
        for number in (1, 2):
            get(number)
        expect_equal(asked, [1], f"requests at the origin after larder {' '.join(words)} and a kill")


@case("restart", "a daemon that is stopped and started has everything it had")
def restart(context):
    count = 500
    asked = []
    origin = context.raw_origin(objects(asked))
    daemon = context.daemon()
    Crowd(daemon, origin, iter(range(count))).join()
    problem = daemon.stop()
    expect(problem is None, problem)
    daemon.start()
    asked.clear()
    again = Crowd(daemon, origin, iter(range(count)))
    again.join()
    expect_equal((again.problems, again.wrong, asked), ([], [], []), "problems, wrong objects, requests at the origin")
    expect_equal(len(again.hits), count, "hits")
