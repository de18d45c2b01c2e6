# SPDX-License-Identifier: Apache-2.0
"""Calls to the system that fail, one after the other: whatever a client gets is right or visibly not whole, and the
daemon goes on, or ends with a sentence that says why."""

import errno
import mmap
import pathlib
import random
import resource
import socket
import struct
import time

from harness.case import Failed, case, expect, expect_equal
from harness.daemon import Daemon, DaemonError
from harness.origin import fresh
from harness.wire import Wire, WireError

SHIM = pathlib.Path(__file__).resolve().parent.parent / "shims" / "faults.c"
SMALL = b"small " * 200
LARGE = random.Random(1).randbytes(300_000)

# The errors that each function is made to give, the likeliest first.
FAULTS = {
    "open": [errno.EMFILE, errno.EIO], "openat": [errno.EMFILE, errno.EIO], "read": [errno.EIO, errno.EINTR],
    "write": [errno.ENOSPC, errno.EINTR], "pread": [errno.EIO, errno.EINTR],
    "pwrite": [errno.ENOSPC, errno.EIO, errno.EINTR], "fsync": [errno.EIO], "rename": [errno.EIO],
    "unlink": [errno.EIO], "truncate": [errno.EIO], "stat": [errno.EIO], "mmap": [errno.ENOMEM],
    "socket": [errno.EMFILE, errno.ENOBUFS], "connect": [errno.EADDRNOTAVAIL, errno.EINTR],
    "accept": [errno.EMFILE, errno.ECONNABORTED], "recv": [errno.ECONNRESET, errno.EINTR, errno.ENOMEM],
    "send": [errno.EPIPE, errno.EINTR, errno.ENOBUFS], "setsockopt": [errno.ENOBUFS],
    "getsockname": [errno.ENOBUFS], "epoll_ctl": [errno.ENOMEM], "epoll_wait": [errno.EINTR],
    "getrandom": [errno.EINTR], "pthread_create": [errno.EAGAIN],
}
# At which calls something fails in the short form: near the beginning each, later some.
SHORT = [1, 2, 3, 5, 8, 13, 21]
# Calls that a start makes.
AT_START = ["open", "openat", "pread", "pwrite", "fsync", "mmap", "stat", "socket", "epoll_ctl", "pthread_create"]


class Control:
    """The memory that the daemon and this share: which call fails, and how often one did."""

    FORM = struct.Struct("=32sqqq")

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(mmap.PAGESIZE))
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def arm(self, name, number, code):
        self.memory[:self.FORM.size] = self.FORM.pack(b"", number, code, 0)
        self.memory[:32] = name.encode().ljust(32, b"\0")

    def disarm(self):
        """Returns whether something has failed."""
        self.memory[:32] = bytes(32)
        return self.FORM.unpack(self.memory[:self.FORM.size])[3] > 0


def compiled(context):
    """The shim, compiled for this machine."""
    library = context.directory / "libfaults.so"
    if not library.exists():
        context.run([context.command("cc"), "-shared", "-fPIC", "-O1", "-o", library, SHIM, "-ldl"])
    return library


def tortured(context, name):
    control = Control(context.directory / f"{name}.control")
    return control, Daemon(
        context.program, context.directory, "threads: 2\n", {}, name,
        environment={"LD_PRELOAD": str(compiled(context)), "FAULTS_CONTROL": str(control.path)})


def ask(daemon, method, url, authority, content=b""):
    """(status, content) of an answer that is whole; None if there was none."""
    try:
        with Wire.connect(daemon.port, 10) as client:
            length = f"Content-Length: {len(content)}\r\n" if method == "POST" else ""
            client.send(f"{method} {url} HTTP/1.1\r\nHost: {authority}\r\n{length}\r\n".encode() + content)
            status, _, received = client.response()
            return status, received
    except (OSError, WireError, ValueError):
        return None


def use(daemon, origin, round_):
    """Requests as clients make them of a proxy; an answer that counts as right must be. Returns how many were."""
    right = 0
    for path, wanted in [
        (f"/small/{round_}", SMALL), (f"/large/{round_}", LARGE), (f"/small/{round_}", SMALL),
        (f"/large/{round_}", LARGE), ("/large/first", LARGE), ("/small/first", SMALL),
    ]:
        answer = ask(daemon, "GET", origin.url + path, origin.authority)
        if answer is not None and answer[0] == 200:
            expect_equal(len(answer[1]), len(wanted), f"the length of {path}")
            expect(answer[1] == wanted, f"the content of {path} is wrong")
            right += 1
    if (answer := ask(daemon, "POST", origin.url + "/small/upload", origin.authority, LARGE)) is not None:
        right += answer[0] == 200
    return right


def expect_end(daemon, what):
    """A daemon that has ended has said why, and was not ended by a signal."""
    code = daemon.process.wait(10)
    expect(code > 0, f"{what}: the daemon ended with {code}:\n{daemon.log_tail()}")
    said = daemon.log_tail()
    expect("Fatal error" not in said and ("larder" in said.lower()), f"{what}: it said: {said}")


def recovered(daemon, origin, what):
    """Everything is answered again, soon."""
    deadline = time.monotonic() + 15
    while use(daemon, origin, "first") < 7:
        expect(daemon.process.poll() is None, f"{what}: the daemon is gone:\n{daemon.log_tail()}")
        expect(time.monotonic() < deadline, f"{what}: not everything is answered again:\n{daemon.log_tail()}")
        time.sleep(0.05)


@case("torture", "calls to the system fail while it serves: nothing wrong goes out, and it goes on")
def serving(context):
    routes = {None: fresh(SMALL)}
    origin = context.origin(routes)
    for number in range(400):
        routes[f"/large/{number}"] = fresh(LARGE)
    routes["/large/first"] = fresh(LARGE)
    control, daemon = tortured(context, "serving")
    context.daemons.append(daemon)
    daemon.start()
    recovered(daemon, origin, "at first")
    round_ = injected = 0
    for name, codes in FAULTS.items():
        for code in codes if context.full else codes[:2]:
            for number in range(1, 60) if context.full else SHORT:
                what = f"{name} call {number} fails with {errno.errorcode[code]}"
                round_ = (round_ + 1) % 400
                control.arm(name, number, code)
                use(daemon, origin, round_)
                time.sleep(0.06)
                has_failed = control.disarm()
                if daemon.process.poll() is not None:
                    expect_end(daemon, what)
                    daemon.start()
                if not has_failed:
                    break
                injected += 1
                recovered(daemon, origin, what)
    expect(injected > 50, f"only {injected} calls failed")
    return f"{injected} calls failed"


@case("torture", "calls to the system fail at the start: it serves, or says why not")
def starting(context):
    origin = context.origin({None: fresh(SMALL), "/large/first": fresh(LARGE), "/large/1": fresh(LARGE)})
    injected = 0
    for name in AT_START:
        for number in range(1, 60) if context.full else [1, 3, 8, 21]:
            code = FAULTS[name][0]
            what = f"{name} call {number} of a start fails with {errno.errorcode[code]}"
            control, daemon = tortured(context, f"starting-{name}-{number}")
            control.arm(name, number, code)
            try:
                daemon.start()
            except DaemonError as error:
                expect(" ended with " in str(error), f"{what}: {error}")
                code = int(str(error).split(" ended with ")[1].split(" ")[0])
                expect(code > 0 and "Fatal error" not in str(error), f"{what}: {error}")
                injected += control.disarm()
                continue
            context.daemons.append(daemon)
            has_failed = control.disarm()
            recovered(daemon, origin, what)
            if problem := daemon.stop():
                raise Failed(f"{what}: {problem}")
            context.daemons.remove(daemon)
            injected += has_failed
            if not has_failed:
                break
    expect(injected > 10, f"only {injected} calls failed")
    return f"{injected} calls failed"


@case("torture", "memory runs out: it ends with a sentence, and nothing wrong went out")
def memory(context):
    origin = context.origin({None: fresh(SMALL), "/huge": fresh(LARGE * 100)})
    for room in (1, 4, 16) if context.full else (2, 8):
        daemon = context.daemon("threads: 2\n", {"cache.memory": "256 MiB"}, f"memory-{room}")
        use_size = int(pathlib.Path(f"/proc/{daemon.process.pid}/statm").read_text().split()[0]) * mmap.PAGESIZE
        limit = use_size + (room << 20)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_AS, (limit, limit))
        crowd = []
        for number in range(400):
            if daemon.process.poll() is not None:
                break
            try:
                client = socket.create_connection(("127.0.0.1", daemon.port), 5)
                client.settimeout(5)
                client.sendall(
                    f"GET {origin.url}/huge?{number} HTTP/1.1\r\nHost: {origin.authority}\r\nX: {'x' * 30000}\r\n\r\n"
                    .encode())
                crowd.append(client)
            except OSError:
                break
        deadline = time.monotonic() + 10
        while daemon.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        for client in crowd:
            client.close()
        if daemon.process.poll() is None:
            # There was room for its needs after all, or those who asked for more were told that there is none.
            continue
        code = daemon.process.returncode
        context.daemons.remove(daemon)
        expect(code == 71, f"with {room} MiB the daemon ended with {code}:\n{daemon.log_tail()}")
        expect("out of memory" in daemon.log(), f"with {room} MiB it said:\n{daemon.log_tail()}")
