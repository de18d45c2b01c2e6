# SPDX-License-Identifier: Apache-2.0
"""The peers that packaging/check needs around a daemon: an origin, and clients that keep asking.

    peers.py origin PORT           answers on 127.0.0.1:PORT; /count says how often it was asked for anything else
    peers.py load URL SECONDS      asks URL/… for that long; says as JSON how it went, exit status 1 after failures
"""

import http.client
import http.server
import json
import sys
import threading
import time
import urllib.parse


class Origin(http.server.BaseHTTPRequestHandler):
    """/slow/… takes two seconds for its content; everything may be kept for an hour."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def do_GET(self):
        counts = self.path == "/count"
        if not counts:
            Origin.asked += 1
        content = str(Origin.asked).encode() if counts else b"x" * 2000
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store" if counts else "max-age=3600")
        self.end_headers()
        pieces = 20 if self.path.startswith("/slow/") else 1
        for index in range(pieces):
            self.wfile.write(content[index * len(content) // pieces:(index + 1) * len(content) // pieces])
            if pieces > 1:
                time.sleep(0.1)

    def log_message(self, *arguments):
        pass


class Load:
    def __init__(self, url, seconds):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path.rstrip("/")
        self.end = time.monotonic() + seconds
        self.lock = threading.Lock()
        self.tally = {"answered": 0, "slow": 0, "reopened": 0, "longest": 0.0, "failures": []}

    def ask(self, connection, path):
        start = time.monotonic()
        connection.request("GET", self.path + path)
        response = connection.getresponse()
        length = len(response.read())
        if response.status != 200 or length != 2000:
            raise ValueError(f"{path}: status {response.status}, {length} octets")
        with self.lock:
            self.tally["answered"] += 1
            self.tally["slow"] += path.startswith("/slow/")
            if not path.startswith("/slow/"):
                self.tally["longest"] = max(self.tally["longest"], round(time.monotonic() - start, 3))
        return response.will_close

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=60)

    def fail(self, error):
        with self.lock:
            if len(self.tally["failures"]) < 20:
                self.tally["failures"].append(repr(error))

    def new_connections(self, prefix):
        """A connection for each request, as curl makes them: every one must be answered."""
        number = 0
        while time.monotonic() < self.end:
            number += 1
            connection = self.connect()
            try:
                self.ask(connection, f"/{prefix}/{number % 50}")
            except (OSError, ValueError, http.client.HTTPException) as error:
                self.fail(error)
            connection.close()
            time.sleep(0.005)

    def kept_connection(self):
        """One connection for all. A server may close it between requests; then the request is made anew, as every
        client does with GET (RFC 9112 §9.3.1), once."""
        connection, is_used, number = self.connect(), False, 0
        while time.monotonic() < self.end:
            number += 1
            try:
                closes = self.ask(connection, f"/kept/{number % 50}")
                is_used = not closes
                if closes:
                    connection.close()
            except (ConnectionError, http.client.RemoteDisconnected) as error:
                connection.close()
                if is_used:
                    with self.lock:
                        self.tally["reopened"] += 1
                else:
                    self.fail(error)
                connection, is_used = self.connect(), False
            except (OSError, ValueError, http.client.HTTPException) as error:
                self.fail(error)
                connection.close()
                connection, is_used = self.connect(), False
            time.sleep(0.005)

    def run(self):
        work = [lambda: self.new_connections("new"), lambda: self.new_connections("new"), self.kept_connection,
                lambda: self.new_connections("slow")]
        threads = [threading.Thread(target=each) for each in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(json.dumps(self.tally))
        return 1 if self.tally["failures"] or not self.tally["answered"] else 0


def main():
    if sys.argv[1] == "origin":
        http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Origin).serve_forever()
    else:
        sys.exit(Load(sys.argv[2], float(sys.argv[3])).run())


main()
