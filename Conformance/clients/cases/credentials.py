# SPDX-License-Identifier: Apache-2.0
"""Credentials that the origin refuses, and variables: renewed once, set from outside, never shown."""

import json
import threading
import time

from harness.case import case, expect, expect_equal, expect_in
from harness.wire import Wire

CLIENTS = 200


class TokenOrigin:
    """An API behind a token that it gives out itself, slowly enough that everybody is refused meanwhile."""

    def __init__(self, context):
        self.lock = threading.Lock()
        self.token = "first"
        self.refused = 0
        self.answered = 0
        self.refreshes = 0
        self.origin = context.raw_origin(self.serve)
        self.url = self.origin.url

    def revoke(self):
        with self.lock:
            self.token = f"token-{self.refreshes + 1}"

    def serve(self, wire):
        while request := wire.request():
            method, path, fields = request
            content = wire.request_content(fields)
            if path == "/token":
                time.sleep(0.3)
                with self.lock:
                    self.refreshes += 1
                    status, body = 200, json.dumps({"access_token": self.token, "said": content.decode()})
            else:
                with self.lock:
                    if fields.get("authorization") == f"Bearer {self.token}":
                        self.answered += 1
                        status, body = 200, f"{method} {path} {content.decode()}"
                    else:
                        self.refused += 1
                        status, body = 401, "refused"
            wire.send(
                f"HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}"
            )


def configuration(origin):
    return f"""
variables:
  token: {{ value: first }}
  password: {{ env: API_PASSWORD }}
services:
  api:
    baseURL: {origin.url}
    configure:
      - match: "**"
        headers: {{ Authorization: "Bearer ${{token}}" }}
        decorate:
          refreshToken:
            url: /token
            json: {{ password: "${{password}}" }}
            store: {{ token: /access_token }}
"""


def ask(daemon, number, answers):
    with Wire.connect(daemon.port, timeout=60) as client:
        if number % 4:
            client.send(f"GET /api/{number} HTTP/1.1\r\nHost: localhost:{daemon.port}\r\n\r\n")
        else:
            client.send(
                f"POST /api/{number} HTTP/1.1\r\nHost: localhost:{daemon.port}\r\nContent-Length: 4\r\n\r\nwork"
            )
        status, _, content = client.response()
        answers[number] = (status, content.decode())


@case("credentials", f"{CLIENTS} requests that are refused at once lead to one refresh and {CLIENTS} successes")
def refreshed_once(context):
    origin = TokenOrigin(context)
    daemon = context.daemon(configuration(origin), environment={"API_PASSWORD": "hush-hush"})
    origin.revoke()
    answers = {}
    threads = [threading.Thread(target=ask, args=(daemon, number, answers)) for number in range(CLIENTS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    seconds = time.monotonic() - started
    wanted = {n: (200, f"GET /{n} " if n % 4 else f"POST /{n} work") for n in range(CLIENTS)}
    expect_equal(answers, wanted, "what the clients got")
    expect_equal(origin.refreshes, 1, "refreshes")
    expect_equal(origin.answered, CLIENTS, "requests that the origin answered")
    expect(origin.refused <= CLIENTS, f"{origin.refused} requests were refused")
    expect("hush-hush" not in daemon.log(), "the password is in the log")
    return f"{origin.refused} refusals, 1 refresh of 300 ms, {CLIENTS} successes in {seconds * 1000:.0f} ms"


@case("credentials", "a variable is set from the command line, and shown by nothing")
def set_from_outside(context):
    origin = TokenOrigin(context)
    daemon = context.daemon(configuration(origin), environment={"API_PASSWORD": "hush-hush"})
    expect_equal(daemon.get("/api/a")[0], 200, "a request with the first token")
    origin.revoke()
    context.run(
        [context.program, "variable", "set", "token", "--socket", daemon.socket], data=origin.token.encode() + b"\n"
    )
    expect_equal(daemon.get("/api/b")[0], 200, "a request with the new token")
    expect_equal((origin.refused, origin.refreshes), (0, 0), "refusals and refreshes")
    listed = context.run([context.program, "variable", "list", "--socket", daemon.socket]).stdout.decode()
    expect_in("password", listed, "the list")
    for path in ("/-/variables", "/-/status", "/-/resources", "/-/explain?url=/api/a"):
        listed += daemon.get(path)[2].decode()
    for secret in (origin.token, "hush-hush"):
        expect(secret not in listed + daemon.log(), f"{secret} is shown")
