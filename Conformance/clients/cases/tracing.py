# SPDX-License-Identifier: Apache-2.0
"""Traces, as a collector on loopback gets them."""

import http.server
import json
import socketserver
import threading
import time

from harness.case import case, expect, expect_equal, expect_in
from harness.origin import fresh

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = {"traceparent": f"00-{TRACE}-{CALLER}-01", "tracestate": "a=b"}


class Collector:
    """Takes what is sent to /v1/traces, answers by `status`, and checks what every batch must have."""

    def __init__(self):
        self.spans, self.requests, self.status, self.fields, self.service = [], 0, 200, {}, ""
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                collector.requests += 1
                collector.fields = self.headers
                if collector.status == 200 and self.path == "/v1/traces":
                    for resource in content["resourceSpans"]:
                        collector.service = attributes(resource["resource"])["service.name"]
                        for scope in resource["scopeSpans"]:
                            collector.spans += scope["spans"]
                self.send_response(collector.status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def wait(self, count, patience=20):
        """The first `count` spans; servers' after those of their requests to origins."""
        end = time.monotonic() + patience
        while len(self.spans) < count:
            expect(time.monotonic() < end, f"the collector has {len(self.spans)} spans, and should have {count}")
            time.sleep(0.02)
        expect_equal(len(self.spans), count, "spans")
        return self.spans


def attributes(span):
    return {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}


@case("traces", "spans of loads and hits reach the collector, and the origin gets Larder's span")
def traced(context):
    collector = Collector()
    origin = context.origin({"/a": fresh("apples\n")})
    daemon = context.daemon(
        f"services:\n  api:\n    baseURL: {origin.url}\n"
        f"trace:\n  otlp: {collector.url}\n  sample: 0\n  headers: {{ X-Team: us }}\n")
    expect_equal(daemon.get("/api/a?token=secret", SAMPLED)[0], 200, "the status")
    expect_equal(daemon.get("/api/a?token=secret", SAMPLED)[0], 200, "the status")
    daemon.get("/api/a?token=secret", {"traceparent": "nonsense", "tracestate": "a=b"})
    daemon.get("/api/b", {"traceparent": "nonsense", "tracestate": "a=b"})
    # Loops send theirs when they have some.
    spans = {attributes(span).get("larder.outcome", "load"): span for span in collector.wait(3)}
    load, miss, hit = (spans[name] for name in ("load", "miss", "hit"))
    expect_equal(collector.service, "larder", "service.name")
    expect_equal(collector.fields["X-Team"], "us", "the collector's field")
    expect_equal({span["traceId"] for span in (load, miss, hit)}, {TRACE}, "traces")
    expect_equal([span["kind"] for span in (load, miss, hit)], [3, 2, 2], "kinds")
    expect_equal([load["parentSpanId"], miss["parentSpanId"], hit["parentSpanId"]],
                 [miss["spanId"], CALLER, CALLER], "parents")
    first, second = origin.asked
    expect_equal(first.fields["traceparent"], f"00-{TRACE}-{load['spanId']}-01", "what the origin gets")
    expect_equal(first.fields["tracestate"], "a=b", "what the origin gets")
    expect("traceparent" not in second.fields and "tracestate" not in second.fields, "what is no trace is passed on")
    for span in (load, miss, hit):
        said = attributes(span)
        expect_equal(
            (said["http.request.method"], said["url.full"], said["http.response.status_code"]),
            ("GET", f"{origin.url}/a", "200"), "attributes")
        expect(int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"]), "a span ends before it starts")
    expect("secret" not in json.dumps(collector.spans), "a query reached the collector")
    expect_equal([attributes(span)["larder.outcome"] for span in (miss, hit)], ["miss", "hit"], "outcomes")
    expect_in("hit", attributes(hit)["larder.cache_status"], "larder.cache_status")
    expect_in("larder_trace_spans_exported_total 3", daemon.get("/-/metrics")[2].decode(), "metrics")


@case("traces", "a collector that fails or is gone delays no request, is told of once, and gets all in the end")
def failing(context):
    collector = Collector()
    collector.status = 503
    origin = context.origin({"/a": fresh("apples\n")})
    daemon = context.daemon(
        f"services:\n  api:\n    baseURL: {origin.url}\ntrace:\n  otlp: {collector.url}\n  sample: 1\n")
    for _ in range(50):
        status, _, content = daemon.get("/api/a")
        expect_equal((status, content), (200, b"apples\n"), "what clients get")
    end = time.monotonic() + 20
    while collector.requests == 0 and time.monotonic() < end:
        time.sleep(0.02)
    collector.status = 200
    collector.wait(51)
    log = daemon.log_file.read_text()
    expect_equal(log.count("traces were not delivered"), 1, "lines in the log")
    expect_in("larder_trace_spans_dropped_total 0", daemon.get("/-/metrics")[2].decode(), "metrics")


@case("traces", "without a collector the fields pass as they came")
def untraced(context):
    origin = context.origin({"/a": fresh("apples\n")})
    daemon = context.daemon(f"services:\n  api:\n    baseURL: {origin.url}\n")
    daemon.get("/api/a", SAMPLED)
    daemon.get("/api/b", {"traceparent": "nonsense"})
    expect_equal([asked.fields.get("traceparent") for asked in origin.asked], [SAMPLED["traceparent"], "nonsense"],
                 "what the origin gets")
