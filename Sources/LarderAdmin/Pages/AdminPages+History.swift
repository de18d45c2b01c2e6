// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy

/// `/-/history`: the last quarter of an hour, and the last day, in columns.
extension AdminPages {
    static func historyPages(_ history: History) -> [String: Page] {
        [
            "/-/history": .reading { request, proxy in
                _ = try AdminParameters(request, known: [])
                let steps = history.steps
                var services = JSONObject()
                for (name, series) in steps.services.sorted(by: { $0.key < $1.key }) {
                    services[name] = AdminPages.columns(
                        series,
                        [
                            ("hits", { .integer($0.hits) }), ("others", { .integer($0.others) }),
                            ("errors", { .integer($0.errors) }),
                        ])
                }
                return OwnResponse(json: [
                    "now": .time(proxy.now), "recent": AdminPages.columns(steps.recent, AdminPages.stepColumns),
                    "day": AdminPages.columns(steps.day, AdminPages.stepColumns), "services": .object(services),
                ])
            }
        ]
    }

    private static let stepColumns: [(name: String, value: @Sendable (History.Step) -> JSONValue)] = [
        ("hits", { .integer($0.counts.hits) }), ("misses", { .integer($0.counts.misses) }),
        ("passes", { .integer($0.counts.passes) }),
        ("errors", { .integer($0.counts.errors) }),
        ("savedBytes", { .integer($0.counts.saved) }), ("receivedBytes", { .integer($0.counts.received) }),
        ("hitMedian", { .decimal($0.hitLatency.median, places: 6) }),
        ("hitP99", { .decimal($0.hitLatency.most, places: 6) }),
        ("loadMedian", { .decimal($0.loadLatency.median, places: 6) }),
        ("loadP99", { .decimal($0.loadLatency.most, places: 6) }),
    ]

    private static func columns<Value>(
        _ series: History.Series<Value>, _ columns: [(name: String, value: @Sendable (Value) -> JSONValue)]
    ) -> JSONValue {
        var object: JSONObject = [
            "stepSeconds": .integer(series.seconds),
            "from": series.values.isEmpty ? .null : .time(Timestamp(nanoseconds: series.beginning * 1_000_000_000)),
        ]
        for column in columns { object[column.name] = .array(series.values.map(column.value)) }
        return .object(object)
    }
}
