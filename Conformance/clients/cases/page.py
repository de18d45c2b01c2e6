# SPDX-License-Identifier: Apache-2.0
"""Larder's own pages: the first page, and the status below /-/."""

import http.client
import json

from harness.case import case, expect, expect_equal, expect_in
from harness.origin import fresh

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@case("page", "the first page helps, as HTML for a browser and as text for a terminal")
def first_page(context):
    daemon = context.daemon()
    status, fields, content = daemon.get("/", {"Accept": BROWSER, "Host": f"localhost:{daemon.port}"})
    expect_equal(status, 200, "status for a browser")
    expect_in("text/html", fields.get("content-type", ""), "Content-Type for a browser")
    page = content.decode()
    expect_in("<title>", page, "the page")
    expect_in("Larder", page, "the page")
    expect_in("default-src", fields.get("content-security-policy", ""), "Content-Security-Policy")
    status, fields, content = daemon.get("/", {"Accept": "*/*", "User-Agent": "curl/8"})
    expect_equal(status, 200, "status for a terminal")
    expect_in("text/plain", fields.get("content-type", ""), "Content-Type for a terminal")
    expect_in(str(daemon.port), content.decode(), "the text")


@case("status", "status, metrics, health, resources and explain answer")
def endpoints(context):
    origin = context.origin({"/thing": fresh("a thing\n")})
    daemon = context.daemon(f"services:\n  api:\n    baseURL: {origin.url}\n")
    for _ in range(3):
        daemon.get("/api/thing")
    status = daemon.status()
    for name in ("version", "uptimeSeconds", "requests", "hitRatio", "memory", "disk", "resources"):
        expect(name in status, f"/-/status has no {name}")
    counts = {name: status["requests"][name] for name in
              ("hit", "miss", "stale", "validated", "collapsed", "error", "tunnel")}
    expect_equal((counts["hit"], counts["miss"]), (2, 1), "hits and misses")
    for tier in ("memory", "disk"):
        expect(status[tier]["limit"] > 0, f"{tier} has no limit")
    for path in ("/-/health", "/-/ready"):
        expect_equal(daemon.get(path)[0], 200, path)
    code, fields, content = daemon.get("/-/metrics")
    expect_equal(code, 200, "/-/metrics")
    samples = [line for line in content.decode().splitlines() if line and not line.startswith("#")]
    expect(samples and all(len(line.rsplit(" ", 1)) == 2 for line in samples), "/-/metrics has no samples")
    float(samples[0].rsplit(" ", 1)[1])
    url = f"{origin.url}/thing"
    code, _, content = daemon.get(f"/-/resources?url={url}")
    expect_equal(code, 200, "/-/resources?url=")
    expect_in(url, content.decode(), "/-/resources?url=")
    code, _, content = daemon.get(f"/-/explain?url={url}")
    expect_equal(code, 200, "/-/explain")
    explained = json.loads(content)
    expect_in("api", json.dumps(explained), "/-/explain names the service")


@case("status", "what Larder says of itself is not for other names, and not for other sites to change")
def guarded(context):
    daemon = context.daemon()
    code, _, content = daemon.get("/-/status", {"Host": "rebound.example"})
    expect(code >= 400, f"/-/status for another host's name: {code}")
    expect(b"uptimeSeconds" not in content, "the status is shown to a page on another host's name")
    for fields in ({"Origin": "http://evil.example"}, {}):
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
        connection.request("POST", "/-/wipe", body=b"{}", headers={"Content-Type": "text/plain", **fields})
        code = connection.getresponse().status
        expect(code in (401, 403, 404, 405), f"a change over TCP without the token: {code}")
        connection.close()
