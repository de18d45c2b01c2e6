# SPDX-License-Identifier: Apache-2.0
"""The daemon under test: started on a free port with everything it keeps in a fresh directory."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time


class DaemonError(Exception):
    """The daemon did not come up, or went away."""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Daemon:
    def __init__(self, program, directory, configuration, sets, name, launcher=(), environment=None):
        self.program = program
        self.port = free_port()
        self.configuration = configuration
        self.sets = sets
        # The program that is started in its place and starts it, and additions to its environment.
        self.launcher = launcher
        self.environment = environment or {}
        self.state = pathlib.Path(directory) / f"{name}-state"
        self.state.mkdir()
        self.file = pathlib.Path(directory) / f"{name}.yaml"
        self.log_file = pathlib.Path(directory) / f"{name}.log"
        self.process = None
        self.seconds_to_ready = None

    @property
    def authority(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"http://{self.authority}"

    @property
    def socket(self):
        return self.state / "larder.sock"

    def preamble(self):
        return (
            f'listen: ["{self.authority}"]\n'
            f"admin:\n  socket: {self.socket}\n"
            f"cache:\n  path: {self.state / 'larder.db'}\n"
        )

    def write_configuration(self, configuration):
        """The whole file; what all daemons here share stands first. Returns the number of lines of that."""
        self.file.write_text(self.preamble() + configuration)
        return self.preamble().count("\n")

    def start(self, patience=20):
        """Starts the process and waits until `/-/ready` says yes."""
        if not self.file.exists():
            self.write_configuration(self.configuration)
        options = [f"--set={key}={value}".replace("{port}", str(self.port)) for key, value in self.sets.items()]
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        environment |= {"SWIFT_BACKTRACE": "interactive=no,color=no", **self.environment}
        command = [*self.launcher, self.program, "serve", "--config", self.file, *options]
        self.launch(command, environment, patience=patience)

    def launch(self, command, environment, directory=None, patience=20):
        """Starts the process by its whole command line, and waits until `/-/ready` says yes."""
        started = time.monotonic()
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=directory)
        while time.monotonic() - started < patience:
            if (code := self.process.poll()) is not None:
                self.process = None
                raise DaemonError(f"larder ended with {code} at its start:\n{self.log_tail()}")
            try:
                if self.get("/-/ready")[0] == 200:
                    self.seconds_to_ready = time.monotonic() - started
                    return
            except OSError:
                pass
            time.sleep(0.005)
        self.kill()
        raise DaemonError(f"larder was not ready after {patience} s:\n{self.log_tail()}")

    def get(self, path, fields=None, timeout=10):
        """One request of its own to the daemon: (status, fields with lower-case names, content)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", path, headers=fields or {})
            response = connection.getresponse()
            content = response.read()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, content
        except http.client.HTTPException as error:
            raise OSError(f"not an HTTP response: {error!r}") from error
        finally:
            connection.close()

    def status(self):
        return json.loads(self.get("/-/status")[2])

    def resident_bytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise DaemonError("the daemon has no resident memory: it is gone")

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, patience=40):
        """Asks the daemon to end; returns what is wrong about how it did, or None."""
        if self.process is None or self.process.poll() == -signal.SIGKILL:
            return None
        if self.process.poll() is not None:
            return f"the daemon was gone (exit {self.process.returncode}):\n{self.log_tail()}"
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"the daemon was still there {patience} s after SIGTERM:\n{self.log_tail()}"
        return None if code == 0 else f"the daemon ended with {code} after SIGTERM:\n{self.log_tail()}"

    def log(self):
        return self.log_file.read_text(errors="replace")

    def log_tail(self):
        """The end of the log; of a crash, what it says of itself and the frames that are the daemon's own."""
        lines = self.log().splitlines()
        crash = [line for line in lines if "Fatal error" in line or " in larder at " in line]
        return "\n".join(crash[:15] or lines[-20:])

    def requests(self, *outcomes, expected, patience=10):
        """The counts of `outcomes` in /-/status, as soon as they are `expected`: an exchange is counted when it is
        over, which its client may see earlier."""
        deadline = time.monotonic() + patience
        while True:
            counts = self.status()["requests"]
            found = tuple(counts[outcome] for outcome in outcomes)
            if found == expected or time.monotonic() > deadline:
                return found
            time.sleep(0.01)

    def wait_for_log(self, text, start=0, patience=10):
        """Waits until the log holds `text` after the character at `start`; returns the log from there on."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            said = self.log()[start:]
            if text in said:
                return said
            time.sleep(0.01)
        raise DaemonError(f"the log never said {text!r}:\n{self.log()[start:] or '(nothing new)'}")
