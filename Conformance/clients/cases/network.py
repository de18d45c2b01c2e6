# SPDX-License-Identifier: Apache-2.0
"""Clients that are not on this machine, with real addresses: in a network namespace of its own, where the loopback
device has addresses of the documentation's networks besides."""

from cases.curl import curl
from harness.case import case, expect, expect_equal, expect_hit, expect_in
from harness.namespace import run_inside
from harness.origin import fresh

LISTENING, ALLOWED, OTHER, OUTSIDE = "192.0.2.1", "192.0.2.7", "198.51.100.7", "9.9.9.80"
# Of an interface of this machine, though it looks as if it was outside.
PUBLIC = "9.9.9.81"


@case("network", "clients on the network: who is served, what they reach, and what of others' answers they get")
def network(context):
    addresses = "".join(f"ip addr add {address}/32 dev lo; " for address in (LISTENING, ALLOWED, OTHER, PUBLIC))
    # One that can be listened on without being any interface's.
    addresses += f"ip route add local {OUTSIDE}/32 dev lo; "
    run_inside(context, __name__, "n", addresses)


def inside(context):
    answers = {"/a": fresh("secret\n"), "/b": fresh("open\n")}
    own, outside = context.origin(answers), context.origin(answers, address=OUTSIDE)
    daemon = context.daemon(
        f'access:\n  allow: ["192.0.2.0/24"]\nservices:\n  own:\n    baseURL: {own.url}/\n',
        sets={"listen": f'["127.0.0.1:{{port}}", "{LISTENING}:{{port}}"]'},
    )

    def ask(source, url, *options):
        """(status, fields, content) of a GET through the proxy from an address."""
        local = source is None
        at = "127.0.0.1" if local else LISTENING
        way = ["-x", f"http://{at}:{daemon.port}"] if "://" in url else ["--noproxy", "*"]
        return curl(
            context, *way, *([] if local else ["--interface", source]), *options,
            url if "://" in url else f"http://{at}:{daemon.port}{url}",
        )

    status, _, content = ask(OTHER, f"{outside.url}/b")
    expect_equal(status, 403, "a client outside the access list")
    expect_in(b"access.allow", content, "what it is told")
    expect_equal(len(outside.asked), 0, "requests for it")

    # From outside: fetched and shared among the clients of the network.
    expect_equal(ask(ALLOWED, f"{outside.url}/b")[2], b"open\n", "from outside")
    expect_hit(ask(ALLOWED, f"{outside.url}/b")[1], "again")

    # From this machine, where the network may not go: neither first, nor after a client here has it.
    inner = context.origin(answers)
    expect_equal(ask(ALLOWED, f"{inner.url}/a")[0], 403, "an origin on this machine")
    expect_equal(ask(None, f"{inner.url}/a")[2], b"secret\n", "for a client here")
    expect_hit(ask(None, f"{inner.url}/a")[1], "for a client here again")
    for options in ([], ["-H", "Range: bytes=0-2"], ["-H", "If-None-Match: *"], ["-I"]):
        status, _, content = ask(ALLOWED, f"{inner.url}/a", *options)
        expect_equal(status, 403, f"after a client here has it, with {options}")
        expect(b"secret" not in content, "a client on the network got what is inside")
    expect_equal(len(inner.asked), 1, "requests at the origin on this machine")

    mine = context.origin(answers, address=PUBLIC)
    expect_equal(ask(ALLOWED, f"{mine.url}/a")[0], 403, "an origin at a public address of this machine")
    expect_equal(ask(None, f"{mine.url}/a")[2], b"secret\n", "the same for a client here")

    # A service that the operator described is for both.
    expect_equal(ask(None, "/own/a")[2], b"secret\n", "a service, for a client here")
    status, fields, content = ask(ALLOWED, "/own/a", "-H", f"Host: {LISTENING}:{daemon.port}")
    expect_equal((status, content), (200, b"secret\n"), "a service, for the network")
    expect_hit(fields, "a service, for the network")

    # Larder's own pages are not.
    for path in ("/", "/-/status", "/-/resources", "/-/metrics"):
        status, _, content = ask(ALLOWED, path, "-H", f"Host: localhost:{daemon.port}")
        expect_equal(status, 403, f"{path} for the network")
        expect(inner.authority.encode() not in content, "a client on the network read what clients here do")
    expect_equal(ask(ALLOWED, "/-/ready", "-H", "Host: localhost")[0], 200, "whether it is ready")
    expect_equal(ask(ALLOWED, f"/http/{outside.authority}/b")[0], 403, "the gateway to any host")
