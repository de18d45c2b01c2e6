# SPDX-License-Identifier: Apache-2.0
"""What belongs to one user, where a service shares it for that user alone."""

import itertools
import subprocess

from cases.sharing import KEY, Team, sent
from harness.case import case, expect, expect_equal, expect_in
from harness.engine import eventually
from harness.origin import Answer


class Partitioned(Team):
    def configuration(self, url):
        own = "    privacy: partitioned\n    identity: [Authorization]\n    shared: true\n"
        return super().configuration(url) + own


@case("sharing", "what is stored for one user is a hit for that user at another daemon, and for nobody else")
def users(context):
    numbers = itertools.count(1)
    fields = {"Content-Type": "text/plain", "Cache-Control": "private, max-age=3600"}
    team = Partitioned(
        context, 2, {None: lambda _: Answer(f"{next(numbers)}\n".encode() * 3000, 200, fields)}, engine=None)
    first, second = team.daemons

    def get(daemon, path, **request):
        _, found, content = daemon.get(f"/api{path}", request)
        return content.split(b"\n")[0], "detail=shared" in found.get("cache-status", "")

    expect_equal(get(first, "/a", Authorization="Bearer anna"), (b"1", False), "anna at the first")
    team.until_written(first, 1)
    expect_equal(get(second, "/a", Authorization="Bearer ben"), (b"2", False), "ben at the second")
    expect_equal(get(second, "/a"), (b"3", False), "nobody at the second")
    expect_equal(get(second, "/a", Authorization="Bearer anna"), (b"1", True), "anna at the second")
    expect_equal(get(second, "/a", Authorization="Bearer anna"), (b"1", False), "anna at the second again")
    # Another credential may have made this response.
    expect_equal(get(first, "/b", Authorization="Bearer anna", Cookie="role=admin"), (b"4", False), "with a cookie")
    expect_equal(get(second, "/b", Authorization="Bearer anna"), (b"5", False), "without it at the second")
    # A write ends what all users have of a URL.
    team.until_written(second, 1)
    expect_equal(sent(first, "DELETE", "/api/a", {"Authorization": "Bearer carl"}), 200, "the write")
    eventually("it is told", lambda: second.status()["sharedCache"]["received"] == 1)
    for daemon in team.daemons:
        expect(int(get(daemon, "/a", Authorization="Bearer anna")[0]) > 5, "anna has what was before the write")
    everything = b" ".join(team.engine.keys("*")) + b"".join(
        team.engine.ask("GET", key) or b"" for kind in ("i", "c") for key in team.engine.keys(f"larder:{kind}:*"))
    for name in (b"anna", b"ben", b"carl", b"admin"):
        expect(name not in everything, f"{name} is in the engine")
    for wrong in ("privacy: private", "privacy: partitioned", "privacy: partitioned\n    identity: [client]"):
        file = context.directory / "wrong.yaml"
        file.write_text(
            f"sharedCache: {{ url: 'redis://localhost', key: {KEY} }}\nservices:\n  api:\n"
            f"    baseURL: http://localhost/\n    shared: true\n    {wrong}\n")
        done = subprocess.run(
            [context.program, "check", "--config", file], capture_output=True, check=False,
            env=context.environment())
        expect(done.returncode != 0, f"larder check takes `{wrong}`")
        expect_in("services.api.shared", (done.stdout + done.stderr).decode(), f"larder check of `{wrong}`")
