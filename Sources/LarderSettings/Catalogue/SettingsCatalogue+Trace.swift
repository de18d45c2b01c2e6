// SPDX-License-Identifier: Apache-2.0

extension SettingsCatalogue {
    static let trace: [Setting<Settings>] = [
        Setting(
            "trace.otlp", \.trace.otlp, .collector,
            initially: "none",
            """
            The collector that spans of requests are sent to, by OTLP over HTTP in JSON, as `http://localhost:4318`; \
            `/v1/traces` is added to its path. Without one, `traceparent` and `tracestate` are relayed as they came.
            """),
        Setting(
            "trace.sample", \.trace.sample, .share,
            """
            The share of requests without `traceparent` that begin a trace. Of the others, those are recorded whose \
            `traceparent` says so.
            """),
        Setting("trace.serviceName", \.trace.serviceName, .line(), "`service.name` of all spans."),
        Setting(
            "trace.headers", \.trace.headers, .headers, initially: "none",
            "Fields of the requests to the collector, as `Authorization: Bearer ${OTLP_TOKEN}`."),
    ]
}
