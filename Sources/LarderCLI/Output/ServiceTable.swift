// SPDX-License-Identifier: Apache-2.0

import Larder

/// The services in `/-/status`, those with most requests first, with the requests that no service claims among them.
struct ServiceTable {
    private let services: [(name: String, content: JSONValue)]

    init(_ status: JSONValue) {
        var all = (status["services"]?.array ?? []).map { (name: $0["name"]?.string ?? "?", content: $0) }
        if let others = status["otherHosts"], ServiceTable.requests(others["requests"]) > 0 {
            all.append((ServiceTable.othersName, others))
        }
        services = all.sorted { one, other in
            let counts = [one, other].map { ServiceTable.requests($0.content["requests"]) }
            return (counts[1], one.name) < (counts[0], other.name)
        }
    }

    /// The table's lines, with the first `limit` services.
    ///
    /// - Parameters:
    ///   - width: the line width in characters, for which the last columns are left out; nil for unlimited.
    ///   - rate: requests per second by the name of a service; nil leaves the column out.
    func lines(
        limit: Int, _ style: TextStyle, width: Int? = nil, rate: ((String) -> String)? = nil
    ) -> [String] {
        guard !services.isEmpty else { return [style.dim("no services")] }
        let rates = rate == nil ? [] : ["req/s"]
        let heading = ["service"] + rates + ["requests", "errors", "hit ratio", "saved", "hits", "loads"]
        var table = Columns(
            sides: [.left] + Array(repeating: .right, count: heading.count - 1), heading: heading)
        for (name, service) in services.prefix(limit) {
            let counts = service["requests"]
            let latency = service["latencyMilliseconds"]
            table.rows.append(
                [shown(name) + (service["offline"]?.bool == true ? " offline" : "")] + (rate.map { [$0(name)] } ?? [])
                    + [
                        Quantity.count(ServiceTable.requests(counts)), Quantity.count(counts?["error"]?.int ?? 0),
                        Quantity.percent(service["hitRatio"]?.double ?? 0),
                        Quantity.bytes(service["bytes"]?["saved"]?.int ?? 0),
                        Quantity.median(latency?["hits"]), Quantity.median(latency?["loads"]),
                    ])
        }
        let more = services.count - limit
        if let width { table.narrow(to: width) }
        return table.text(style).split(separator: "\n").map(String.init)
            + (more > 0 ? [style.dim("and \(Quantity.count(more)) more")] : [])
    }

    private func shown(_ name: String) -> String {
        name == ServiceTable.othersName ? ServiceTable.others : Outline.printable(name)
    }

    /// The name of unclaimed traffic in `/-/…`, and the name that people see.
    static let othersName = "-"
    static let others = "(other hosts)"

    /// All requests but those to Larder itself.
    static func requests(_ counts: JSONValue?) -> Int {
        guard let counts = counts?.object else { return 0 }
        return counts.names.filter { $0 != "own" }.reduce(0) { $0 + (counts[$1]?.int ?? 0) }
    }
}

extension Quantity {
    /// The median of latencies in milliseconds, as `/-/status` has them.
    static func median(_ latencies: JSONValue?) -> String { latency((latencies?["p50"]?.double ?? 0) / 1_000) }
}
