# SPDX-License-Identifier: Apache-2.0
"""Other users of the machine, who may not use the daemon's admin socket."""

import json
import os
import subprocess

from harness.case import Skipped, case, expect, expect_equal, expect_in
from harness.origin import fresh

ANNA, BEN = 54_321, 54_322


class Users:
    def __init__(self, context):
        if os.geteuid() != 0:
            raise Skipped("only root can run commands as other users")
        context.directory.chmod(0o755)
        self.context = context
        self.origin = context.origin({"/a": fresh("flour\n")}, address="127.0.0.2")
        self.daemon = context.daemon()
        self.daemon.state.chmod(0o755)

    def run(self, user, *arguments):
        done = subprocess.run(
            [str(argument) for argument in arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=30, user=user, group=user, extra_groups=[], cwd="/", check=False,
            env=self.context.environment(HOME="/nonexistent", TMPDIR="/tmp"))
        return done.returncode, done.stdout.decode()

    def larder(self, user, command, *arguments):
        return self.run(user, self.context.program, command, "--socket", self.daemon.socket, *arguments)

    def lane(self, user, method, path):
        return self.run(
            user, "curl", "-s", "-X", method, "-w", "%{http_code}", "--unix-socket",
            self.daemon.state / "larder-lanes.sock", f"http://localhost{path}")[1]


@case("users", "larder run works for a user who may not use the admin socket, and counts; changes do not")
def others(context):
    users = Users(context)
    for hits in (0, 1):
        code, said = users.larder(ANNA, "run", "--", "curl", "-s", f"{users.origin.url}/a")
        expect_equal(code, 0, f"exit status of {said}")
        expect_in(f"flour\nlarder: 1 request, {hits} from the cache", said, "larder run")
    code, said = users.larder(ANNA, "wipe", "--match", "**")
    expect(code != 0, "the user may wipe")
    expect_in("this user may not use", said, "larder wipe")
    code, said = users.larder(ANNA, "run", "--record", "one", "--", "true")
    expect(code != 0, "the user may record")
    expect_in("recordings are kept by the daemon", said, "larder run --record")


@case("users", "a lane, its address and its end are those of the user who opened it")
def own(context):
    users = Users(context)
    opened = json.loads(users.lane(ANNA, "POST", "/-/lanes?door=true").removesuffix("200"))
    expect(opened["door"], "the lane has no address")
    asked = ("curl", "-s", "--noproxy", "", "-x", f"http://{opened['door']}", f"{users.origin.url}/a")
    expect_equal(users.run(ANNA, *asked), (0, "flour\n"), "the user's request at the lane's address")
    expect(users.run(BEN, *asked)[0] != 0, "another user is served at the lane's address")
    path = f"/-/lanes/{opened['id']}"
    expect(users.lane(BEN, "DELETE", path).endswith("404"), "another user may end the lane")
    expect(users.lane(ANNA, "DELETE", path).endswith("200"), "the user may not end the lane")
