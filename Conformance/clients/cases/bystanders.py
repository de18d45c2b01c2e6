# SPDX-License-Identifier: Apache-2.0
"""Other clients do not wait while one client or origin does its worst. With `--full` alone, on a machine that has
nothing else to do: the bounds are in time, for a release build.

A new case is a function that starts the worst and returns a function that does it once; `measure` does the rest."""

import contextlib
import json
import pathlib
import subprocess
import sys
import threading
import time

from harness.case import Skipped, case, expect
from harness.origin import Answer, fresh
from harness.wire import Wire, WireError

BYSTANDER = pathlib.Path(__file__).resolve().parent.parent / "harness" / "bystander.py"
SECONDS = 8
# Milliseconds.
BYSTANDER_P99 = 20
OPERATOR_LIMIT = 1000


def watch(daemon, origin):
    """The latencies of a bystander and of an operator, in milliseconds."""
    done = subprocess.run(
        [sys.executable, BYSTANDER, str(daemon.port), daemon.socket, f"{origin.url}/bystander", str(SECONDS)],
        capture_output=True, timeout=SECONDS + 120, check=False)
    expect(done.returncode == 0, f"a bystander was not served: {done.stderr.decode(errors='replace')[-500:]}")
    return json.loads(done.stdout)


def at(share, values):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def words(seen):
    bystander, operator = seen["bystander"], seen["operator"]
    return (
        f"{len(bystander)} requests, p50 {at(0.5, bystander):.1f} p99 {at(0.99, bystander):.1f} "
        f"max {max(bystander):.1f} ms, operator {max(operator):.1f} ms")


def keep_on(act, over, done):
    while not over.is_set():
        try:
            act()
            done.append(time.monotonic())
        except (OSError, WireError):
            # It may be turned away. Bystanders may not.
            time.sleep(0.05)


def measure(context, daemon, origin, act, threads):
    """Does `act` in some threads while a bystander asks, and compares that with a bystander alone."""
    alone = watch(daemon, origin)
    over, done = threading.Event(), []
    crowd = [threading.Thread(target=keep_on, args=(act, over, done), daemon=True) for _ in range(threads)]
    for one in crowd:
        one.start()
    try:
        beside = watch(daemon, origin)
    finally:
        over.set()
    for one in crowd:
        one.join(30)
    context.daemons.remove(daemon)
    began = time.monotonic()
    problem = daemon.stop()
    end = time.monotonic() - began
    said = f"alone: {words(alone)}; beside {len(done)} of the worst: {words(beside)}; end after {end:.1f} s"
    print(f"      {said}")
    expect(problem is None, f"{problem} ({said})")
    expect(at(0.99, beside["bystander"]) < BYSTANDER_P99, f"a bystander waited: {said}")
    expect(max(beside["operator"]) < OPERATOR_LIMIT, f"an operator waited: {said}")
    expect(end < 10, f"SIGTERM took too long: {said}")


def ask(daemon, request):
    with contextlib.closing(Wire.connect(daemon.port, 60)) as client:
        client.send(request)
        return client.response()


def begin(context, routes):
    if not context.full:
        raise Skipped("runs with --full alone")
    origin = context.origin({"/bystander": fresh(b"x" * 1000), **routes})
    daemon = context.daemon("threads: 2\n")
    return origin, daemon


@case("bystanders", "writes whose responses name two hundred groups")
def groups(context):
    names = ", ".join(f'"g{number}"' for number in range(200))
    written = Answer(b"done", 200, {"Cache-Group-Invalidation": names})
    origin, daemon = begin(context, {"/write": written, None: fresh(b"y" * 200, Cache_Groups=names)})
    count = 300

    def load():
        with contextlib.closing(Wire.connect(daemon.port, 60)) as client:
            for number in range(count):
                client.send(f"GET {origin.url}/{number} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n")
                client.response()

    load()
    turns = iter(range(1 << 30))

    def write():
        if next(turns) % 10 == 9:
            load()
        ask(daemon, f"POST {origin.url}/write HTTP/1.1\r\nHost: {origin.authority}\r\nContent-Length: 0\r\n\r\n")

    measure(context, daemon, origin, write, 4)


@case("bystanders", "a list of ten thousand resources, sixty-four at once")
def listing(context):
    origin, daemon = begin(context, {None: fresh(b"y" * 50)})
    with contextlib.closing(Wire.connect(daemon.port, 60)) as client:
        for number in range(10_000):
            client.send(f"GET {origin.url}/{number} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n")
            client.response()

    def read():
        ask(daemon, f"GET /-/resources?limit=10000 HTTP/1.1\r\nHost: {daemon.authority}\r\n\r\n")

    measure(context, daemon, origin, read, 64)
