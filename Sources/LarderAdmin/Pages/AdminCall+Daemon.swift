// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

/// The pages about the daemon: its counts, its decisions, reloads, and whether origins are asked.
extension AdminCall {
    func showStatus() async -> OwnResponse {
        var report = await status()
        report.allTime = history.allTime(proxy)
        return OwnResponse(json: report.json)
    }

    func metrics() async -> OwnResponse {
        let type = AcceptedType.preferred(by: request.fields, inOrder: [.openMetrics, .text])
        let metrics = await status().metrics(isOpenMetrics: type == .openMetrics)
        return OwnResponse(type: metrics.mediaType, metrics.text.utf8)
    }

    /// Everybody may read how much was asked for; where clients say who they are, their hosts are not for everybody.
    private func status() async -> StatusReport {
        let report = await StatusReport(of: proxy)
        guard proxy.configuration.settings.access.users != nil, !mayChange else { return report }
        return report.leavingOutVisits(but: proxy.configuration.router.table)
    }

    func explain() async throws -> OwnResponse {
        let explanation = try await Explanation(of: parameters, proxy)
        let type = AcceptedType.preferred(by: request.fields, inOrder: [.json, .text])
        return type == .text ? OwnResponse(text: explanation.text) : OwnResponse(json: explanation.json)
    }

    func showReloads() -> OwnResponse { OwnResponse(json: ReloadReport(proxy.reloading).json) }

    func reload() async throws -> OwnResponse {
        guard let attempt = await proxy.reloading.reload() else { throw Problem.nothingToReload }
        return OwnResponse(json: attempt.json)
    }

    func showOffline() -> OwnResponse { OwnResponse(json: OfflineReport(of: proxy).json) }

    func goOffline() throws -> OwnResponse {
        _ = try parameters.required("mode")
        let modes = OfflineMode.allCases.map(\.rawValue) + ["configured"]
        let mode = try parameters.choice("mode", of: modes, default: "configured")
        let names = proxy.configuration.router.table.all.map(\.name)
        // A name in another case would be stored and never looked up.
        let service = parameters.text("service")
        if let service, !names.contains(service) { throw Problem.unknownService(service, known: names) }
        proxy.goOffline(OfflineMode(rawValue: mode), service: service)
        return showOffline()
    }

    /// `/-/history`: the last quarter of an hour, and the last day, in columns.
    func showHistory() -> OwnResponse {
        let steps = history.steps
        var services = JSONObject()
        for (name, series) in steps.services.sorted(by: { $0.key < $1.key }) {
            services[name] = AdminCall.columns(
                series,
                [
                    ("hits", { .integer($0.hits) }), ("others", { .integer($0.others) }),
                    ("errors", { .integer($0.errors) }),
                ])
        }
        return OwnResponse(json: [
            "now": .time(proxy.now), "recent": AdminCall.columns(steps.recent, AdminCall.stepColumns),
            "day": AdminCall.columns(steps.day, AdminCall.stepColumns), "services": .object(services),
        ])
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

extension Problem {
    fileprivate static let nothingToReload = Problem(
        status: 501, title: "Not implemented", proxyError: .httpRequestError,
        detail: "This program does not read its configuration again.", advice: "Restart it.")
}
