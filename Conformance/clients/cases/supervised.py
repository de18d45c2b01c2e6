# SPDX-License-Identifier: Apache-2.0
"""The part of systemd for a service of Type=notify, done here in its place."""

import socket
import subprocess

from harness.case import case, expect, expect_equal
from harness.daemon import Daemon


class Supervisor:
    """The socket to which a service says how it is."""

    def __init__(self, context):
        self.path = context.directory / "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.socket.settimeout(10)

    def wait_for(self, assignment):
        """Takes messages until one of them holds the assignment."""
        heard = []
        try:
            while True:
                heard += self.socket.recv(4096).decode().splitlines()
                if assignment in heard:
                    return
        except TimeoutError:
            expect(False, f"never said {assignment}, only {heard}")

    def forget(self):
        self.socket.setblocking(False)
        try:
            while self.socket.recv(4096):
                pass
        except BlockingIOError:
            pass
        self.socket.settimeout(10)


@case("systemd", "READY=1 at the start, WATCHDOG=1 in time, STOPPING=1 at the end")
def notified(context):
    supervisor = Supervisor(context)
    daemon = context.daemon(environment={"NOTIFY_SOCKET": str(supervisor.path), "WATCHDOG_USEC": "400000"})
    supervisor.wait_for("READY=1")
    for _ in range(3):
        supervisor.forget()
        supervisor.wait_for("WATCHDOG=1")
    daemon.process.terminate()
    supervisor.wait_for("STOPPING=1")
    expect_equal(daemon.process.wait(20), 0, "exit status")
    daemon.process = None


@case("systemd", "listening sockets that systemd opened are served, whatever the configuration says")
def activated(context):
    program = context.command("systemd-socket-activate")
    daemon = Daemon(context.program, context.directory, "", {}, "activated")
    daemon.launcher = (program, "--listen", daemon.authority)
    # The configuration names a port that is taken: whoever tried to open it would fail.
    with socket.create_server(("127.0.0.1", 0)) as taken:
        daemon.sets = {"listen": f'["127.0.0.1:{taken.getsockname()[1]}"]'}
        context.daemons.append(daemon)
        daemon.start()
        expect_equal(daemon.get("/-/health")[0], 200, "an answer on the socket that was handed over")


@case("systemd", "a port that is taken is a clear failure")
def taken(context):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        daemon = Daemon(context.program, context.directory, "", {"listen": f'["{address}"]'}, "second")
        daemon.write_configuration("")
        done = subprocess.run(
            [context.program, "serve", "--config", daemon.file, f'--set=listen=["{address}"]'],
            capture_output=True, text=True, timeout=20, check=False,
        )
    expect(done.returncode > 0, f"larder serve ended with {done.returncode}")
    expect(address in done.stderr + done.stdout, f"the address is not named: {done.stderr or done.stdout}")
    expect("in use" in done.stderr + done.stdout, f"the reason is not named: {done.stderr or done.stdout}")
