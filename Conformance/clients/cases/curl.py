# SPDX-License-Identifier: Apache-2.0
"""curl, through each of the ways in."""

import json

from harness.case import Failed, case, expect, expect_equal, expect_hit, expect_in
from harness.daemon import free_port
from harness.origin import Answer, fresh


def curl(context, *arguments):
    """Runs curl; returns (status, fields, content) of the last response."""
    done = context.run([context.command("curl"), "-sS", "-i", "--noproxy", "", "--max-time", "20", *arguments])
    rest = done.stdout
    while True:
        head, found, rest = rest.partition(b"\r\n\r\n")
        if not found:
            raise Failed(f"curl showed no response: {done.stdout!r}")
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split()[1])
        if status >= 200 and not (status in (301, 302) and rest.startswith(b"HTTP/")):
            break
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        name = name.lower()
        fields[name] = f"{fields[name]}, {value.strip()}" if name in fields else value.strip()
    return status, fields, rest


def service(origin, name="api", base=""):
    return f"services:\n  {name}:\n    baseURL: {origin.url}{base}\n"


@case("curl", "curl -x gets the same thing twice, the second time from the cache")
def forward(context):
    origin = context.origin({"/thing": fresh("a thing\n", ETag='"1"')})
    daemon = context.daemon()
    for attempt in (1, 2):
        status, fields, content = curl(context, "-x", daemon.url, f"{origin.url}/thing")
        expect_equal(status, 200, "status")
        expect_equal(content, b"a thing\n", "content")
        expect_in("Larder", fields.get("cache-status", ""), "Cache-Status")
        expect("via" in fields, "the response has no Via")
    expect_hit(fields, "the second response")
    expect("age" in fields, "a hit has no Age")
    expect_equal(len(origin.asked), 1, "requests at the origin")
    counts = daemon.requests("hit", "miss", expected=(1, 1))
    expect_equal(counts, (1, 1), "hits and misses in /-/status")


@case("curl", "the same resource is the same by every way in: one request at the origin")
def every_way_in(context):
    origin = context.origin({"/v1/thing": fresh("a thing\n")})
    daemon = context.daemon(service(origin, "api", "/v1"))
    by_name = f"http://api.localhost:{daemon.port}/thing"
    ways = {
        "gateway by mount": [f"{daemon.url}/api/thing"],
        "gateway by host name": ["--resolve", f"api.localhost:{daemon.port}:127.0.0.1", by_name],
        "gateway to any host": [f"{daemon.url}/http/{origin.authority}/v1/thing"],
        "forward proxy": ["-x", daemon.url, f"{origin.url}/v1/thing"],
    }
    for attempt in (1, 2):
        for way, arguments in ways.items():
            status, fields, content = curl(context, *arguments)
            expect_equal((status, content), (200, b"a thing\n"), way)
            if attempt == 2:
                expect_hit(fields, f"{way}, second time")
    expect_equal([asked.path for asked in origin.asked], ["/v1/thing"], "requests at the origin")
    expect_equal(origin.asked[0].fields.get("host"), origin.authority, "Host at the origin")


@case("curl", "the gateway maps Location, Content-Location, Link and cookie domains back")
def mapped_back(context):
    origin = context.origin()
    origin.routes["/v1/old"] = Answer(b"", 302, {"Location": f"{origin.url}/v1/new"})
    origin.routes["/v1/new"] = fresh(
        "moved here\n", Content_Location=f"{origin.url}/v1/new",
        Link=f'<{origin.url}/v1/next>; rel="next"', Set_Cookie="a=b; Domain=127.0.0.1; Path=/",
    )
    daemon = context.daemon(service(origin, "api", "/v1"))
    status, fields, _ = curl(context, f"{daemon.url}/api/old")
    expect_equal(status, 302, "status")
    expect(fields["location"] in ("/api/new", f"{daemon.url}/api/new"), f"Location: {fields['location']}")
    status, fields, content = curl(context, "-L", f"{daemon.url}/api/old")
    expect_equal((status, content), (200, b"moved here\n"), "after following the redirect")
    for name in ("content-location", "link"):
        expect(origin.authority not in fields[name], f"{name} still leads to the origin: {fields[name]}")
        expect_in("/api/ne", fields[name], name)
    expect("domain=127.0.0.1" not in fields["set-cookie"].lower(), f"Set-Cookie: {fields['set-cookie']}")


@case("curl", "HEAD and single ranges are answered from a stored complete response")
def derived(context):
    content = bytes(range(256)) * 40
    origin = context.origin({"/file": fresh(content, "application/octet-stream", ETag='"f"')})
    daemon = context.daemon()
    through = ("-x", daemon.url, f"{origin.url}/file")
    curl(context, *through)
    status, fields, _ = curl(context, "-I", *through)
    expect_equal((status, fields["content-length"]), (200, str(len(content))), "HEAD")
    expect_hit(fields, "HEAD")
    status, fields, part = curl(context, "-r", "1000-1999", *through)
    expect_equal((status, fields.get("content-range")), (206, f"bytes 1000-1999/{len(content)}"), "range")
    expect_equal(part, content[1000:2000], "content of the range")
    expect_hit(fields, "range")
    status, fields, _ = curl(context, "-H", 'If-None-Match: "f"', *through)
    expect_equal(status, 304, "If-None-Match with the stored validator")
    expect_equal(len(origin.asked), 1, "requests at the origin")


@case("curl", "an unsafe request makes the stored response of its target unusable")
def invalidated(context):
    origin = context.origin({"/note": fresh("note\n")})
    daemon = context.daemon()
    through = ("-x", daemon.url, f"{origin.url}/note")
    curl(context, *through)
    curl(context, "-X", "PUT", "-d", "other", *through)
    _, fields, _ = curl(context, *through)
    expect_equal([asked.method for asked in origin.asked], ["GET", "PUT", "GET"], "requests at the origin")


@case("curl", "an origin that is not there: 502 that says what is wrong, in the form that was asked for")
def nobody_there(context):
    daemon = context.daemon()
    target = f"http://127.0.0.1:{free_port()}/x"
    status, fields, content = curl(context, "-x", daemon.url, "-H", "Accept: application/json", target)
    expect_equal(status, 502, "status")
    expect_in("connection_refused", fields.get("proxy-status", ""), "Proxy-Status")
    expect_in("application/problem+json", fields.get("content-type", ""), "Content-Type")
    problem = json.loads(content)
    expect_equal(problem.get("status"), 502, "status in the problem")
    expect(problem.get("title") and problem.get("detail"), f"a problem without title and detail: {problem}")
    _, fields, content = curl(context, "-x", daemon.url, target)
    expect_in("text/plain", fields.get("content-type", ""), "Content-Type for a terminal")
    expect_in("127.0.0.1", content.decode(), "the text names the origin")
    _, fields, content = curl(context, "-x", daemon.url, "-H", "Accept: text/html,*/*;q=0.8", target)
    expect_in("text/html", fields.get("content-type", ""), "Content-Type for a browser")
