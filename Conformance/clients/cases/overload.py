# SPDX-License-Identifier: Apache-2.0
"""Things the machine may run out of or lose: descriptors, disk, a directory. Larder goes on, says so, and recovers
without a restart. Disks are small file systems in a mount namespace of our own."""

import os
import shutil
import socket
import subprocess
import time

from harness.case import Failed, case, expect, expect_equal, expect_hit, expect_in, is_hit
from harness.daemon import Daemon
from harness.namespace import run_inside
from harness.origin import fresh
from harness.wire import Wire, WireError

CONTENT = bytes(range(256)) * 512
# More than the disk has room for.
LONG = bytes(range(256)) * (24 << 10)


def fetch(daemon, origin, path):
    """(whether it was a hit, whether the content is right)"""
    with Wire.connect(daemon.port) as client:
        client.send(f"GET {origin.url}{path} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n")
        status, fields, content = client.response()
    return is_hit(fields), status == 200 and content == CONTENT


def fetch_slowly(daemon, origin, path):
    """What a client gets that reads slower than the origin sends."""
    content = b""
    with socket.create_connection(("127.0.0.1", daemon.port), 20) as client:
        request = f"GET {origin.url}{path} HTTP/1.1\r\nHost: {origin.authority}\r\nConnection: close\r\n\r\n"
        client.sendall(request.encode())
        while piece := client.recv(64 << 10):
            content += piece
            time.sleep(0.002)
    return content.partition(b"\r\n\r\n")[2]


def await_state(daemon, words, patience=20):
    deadline = time.monotonic() + patience
    while words not in (state := daemon.status()["store"]["state"]):
        expect(time.monotonic() < deadline, f"/-/status never said {words!r}; it says {state!r}")
        time.sleep(0.05)


@case("overload", "descriptors run out: new clients are turned away, others served; the log says so; it recovers")
def descriptors(context):
    origin = context.origin({None: fresh(CONTENT)})
    daemon = Daemon(
        context.program, context.directory, "threads: 2\n", {}, "few",
        launcher=[context.command("prlimit"), "--nofile=90:90"])
    context.daemons.append(daemon)
    daemon.start()
    with Wire.connect(daemon.port) as steady:
        request = f"GET {origin.url}/a HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n"
        steady.send(request)
        expect_equal(steady.response()[2], CONTENT, "content before")
        crowd = []
        try:
            for _ in range(150):
                crowd.append(socket.create_connection(("127.0.0.1", daemon.port), 5))
            said = daemon.wait_for_log("cannot accept")
            expect_in("limit on open files", said, "what the log advises")
            steady.send(request)
            status, fields, content = steady.response()
            expect_equal((status, content), (200, CONTENT), "a client that was there before")
            expect_hit(fields, "a client that was there before")
        finally:
            for client in crowd:
                client.close()
    deadline = time.monotonic() + 20
    while True:
        try:
            expect_equal(fetch(daemon, origin, "/b"), (False, True), "a client afterwards")
            break
        except (OSError, WireError):
            expect(time.monotonic() < deadline, "no client was served after the crowd had left")
            time.sleep(0.1)
    expect_equal(daemon.status()["store"]["state"], "working", "the store")


@case("overload", "descriptors run out while it starts: it serves, or says why it does not")
def descriptors_at_start(context):
    request = b"GET http://127.0.0.1:9/ HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n"
    for limit in range(30, 40):
        daemon = Daemon(context.program, context.directory, "threads: 2\n", {}, f"start{limit}")
        daemon.write_configuration(daemon.configuration)
        with open(daemon.log_file, "wb") as log:
            process = subprocess.Popen(
                [context.command("prlimit"), f"--nofile={limit}:{limit}", context.program, "serve", "--config",
                 daemon.file], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        crowd = []
        try:
            # From the first moment at which it listens: what it does later finds no descriptor left.
            deadline = time.monotonic() + 20
            while process.poll() is None and len(crowd) < 60:
                expect(time.monotonic() < deadline, f"it neither listened nor ended with {limit} descriptors")
                try:
                    client = socket.create_connection(("127.0.0.1", daemon.port), 5)
                    crowd.append(client)
                    client.sendall(request)
                except OSError:
                    time.sleep(0.001)
            time.sleep(0.2)
            if process.poll() is None:
                process.terminate()
                expect_equal(process.wait(20), 0, f"the exit status with {limit} descriptors")
            else:
                expect_equal(process.returncode, 1, f"how it ended with {limit} descriptors")
                expect_in("Too many open files", daemon.log(), f"why it did not start with {limit} descriptors")
        finally:
            for client in crowd:
                client.close()
            process.kill()
            process.wait()


@case("overload", "a directory that vanishes comes back, and what is damaged is set aside")
def directory(context):
    origin = context.origin({None: fresh(CONTENT)})
    daemon = context.daemon()
    for number in range(10):
        expect_equal(fetch(daemon, origin, f"/{number}")[1], True, "content")
    shutil.rmtree(daemon.state, ignore_errors=True)
    for number in range(10, 60):
        expect_equal(fetch(daemon, origin, f"/{number}")[1], True, "content without a directory")
        time.sleep(0.02)
    await_state(daemon, "working")
    daemon.process.kill()
    daemon.process.wait()
    daemon.state.mkdir(exist_ok=True)
    for file in daemon.state.glob("larder.db*"):
        file.unlink()
    (daemon.state / "larder.db").write_bytes(b"no database " * 4096)
    daemon.start()
    expect_in("set aside", daemon.log().replace("kept under another name", "set aside"), "the log")
    expect_equal(fetch(daemon, origin, "/1")[1], True, "content after the damage")
    await_state(daemon, "working")


@case("overload", "a disk that is full, read-only or taken away: all is served, status and log say so, it recovers")
def disks(context):
    run_inside(context, __name__, "m")


def inside(context):
    origin = context.origin({None: lambda path: fresh(LONG if path.startswith("/long") else CONTENT)})
    disk = context.directory / "disk"
    disk.mkdir()

    def mount(*options):
        subprocess.run(["mount", *options, str(disk)], check=True, capture_output=True)

    mount("-t", "tmpfs", "-o", "size=8m", "none")
    daemon = context.daemon(sets={"cache.path": disk / "store", "cache.disk": "64 MiB"})

    # Full: a file of somebody else's takes what is left.
    expect_equal(fetch(daemon, origin, "/0"), (False, True), "on an empty disk")
    daemon.get("/-/resources")
    with open(disk / "ballast", "wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(bytes(64 << 10))
        except OSError:
            pass
    start = len(daemon.log())
    for number in range(1, 60):
        expect_equal(fetch(daemon, origin, f"/full/{number}")[1], True, "content on a full disk")
    said = daemon.wait_for_log("cannot be written", start)
    expect_in("reason", said, "why")
    await_state(daemon, "reading only")
    os.truncate(disk / "ballast", os.path.getsize(disk / "ballast") - (768 << 10))
    for number in range(2):
        await_state(daemon, "working")
        content = fetch_slowly(daemon, origin, f"/long/{number}")
        expect_equal(content == LONG, True, f"long content that fills the disk, {len(content)} octets of it")
    os.unlink(disk / "ballast")
    await_state(daemon, "working")
    expect_equal(fetch(daemon, origin, "/after/1"), (False, True), "after there is room again")
    daemon.wait_for_log("can be written again", start)

    # Read-only: what is opened by its name is; what is open stays writable, as for a system that is being repaired.
    start = len(daemon.log())
    mount("--bind", str(disk))
    mount("-o", "remount,ro,bind")
    for number in range(20):
        expect_equal(fetch(daemon, origin, f"/unwritable/{number}")[1], True, "content on a read-only disk")
    said = daemon.wait_for_log("cannot be written", start)
    expect_in("Read-only file system", said, "why")
    await_state(daemon, "reading only")
    expect_equal(fetch(daemon, origin, "/after/1"), (True, True), "what was stored before")
    subprocess.run(["umount", str(disk)], check=True, capture_output=True)
    await_state(daemon, "working")
    daemon.wait_for_log("can be written again", start)
    expect_equal(fetch(daemon, origin, "/after/2"), (False, True), "after it may be written again")

    # Taken away: what is under its name now is another disk, and empty.
    subprocess.run(["umount", "--lazy", str(disk)], check=True, capture_output=True)
    for number in range(40):
        expect_equal(fetch(daemon, origin, f"/away/{number}")[1], True, "content without the disk")
        time.sleep(0.02)
    daemon.wait_for_log("deleted or replaced", start)
    await_state(daemon, "working")
    mount("-t", "tmpfs", "-o", "size=8m", "none")

    if problem := daemon.stop():
        raise Failed(problem)
    context.daemons.remove(daemon)

    # Read-only from the start: there is a message, and no process that does not keep what it should.
    mount("-o", "remount,ro")
    refused = subprocess.run(
        [context.program, "serve", "--set", "listen=127.0.0.1:0", "--set", f"cache.path={disk / 'new'}",
         "--set", f"admin.socket={context.directory / 'x.sock'}"],
        capture_output=True, timeout=30, check=False)
    expect(refused.returncode != 0, "a daemon started on a read-only disk")
    expect_in(str(disk), refused.stderr.decode(), "what it says")
