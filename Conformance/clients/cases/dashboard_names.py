# SPDX-License-Identifier: Apache-2.0
"""Whose a URL is, in the dashboard's lists."""

from cases.dashboard import cells, expect_quiet, opened
from harness.case import case, expect, expect_equal, expect_in
from harness.origin import fresh


@case("dashboard", "a URL that two services cover has the service's name beside it, others have none")
def whose(context):
    origin = context.origin({None: fresh("a thing\n")})
    daemon = context.daemon(f"""
services:
  part: {{ baseURL: {origin.url}/v1/ }}
  all: {{ baseURL: {origin.url}/ }}
""")
    for path in ["/part/a", "/part/a", "/all/v1/a", "/all/v1/a", "/all/b", "/all/b"]:
        daemon.get(path)
    page = opened(context, daemon)
    expect(page.wait_until("document.querySelectorAll('#resources .sub').length === 2"), "no service is named")
    listed = sorted(row[7].removeprefix(origin.url) for row in cells(page, "resources"))
    expect_equal(listed, ["/b", "/v1/aall", "/v1/apart"], "the URLs of resources")
    named = "\n".join(row[3] for row in cells(page, "requests"))
    for words in ("/bLarder", "/v1/aall: Larder", "/v1/apart: Larder"):
        expect_in(words, named, "requests")
    page.wait_until("document.querySelectorAll('#hottest li').length === 3")
    hottest = page.value("[...document.querySelectorAll('#hottest .why')].map(line => line.textContent).sort()")
    expect_equal(hottest, ["all: fresh", "fresh", "part: fresh"], "the services of the hottest")
    expect_quiet(page, daemon)
