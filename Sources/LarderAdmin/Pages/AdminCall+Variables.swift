// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

/// The variables of the configuration: their names for all readers, new values for those who may make changes.
extension AdminCall {
    func variables() -> OwnResponse {
        let services = proxy.configuration.router.table.services
        let lines = (proxy.configuration.variables?.reports ?? []).map { report -> JSONValue in
            var line: JSONObject = [
                "name": .string(report.name), "source": .string(report.source), "isSet": .bool(report.isSet),
                "onChange": .strings(report.onChange.map(\.rawValue)),
                "services": .strings(services.filter { $0.uses([report.name]) }.map(\.name)),
            ]
            if let changedAt = report.changedAt { line["changed"] = .time(changedAt) }
            return .object(line)
        }
        return OwnResponse(json: ["variables": .array(lines)])
    }

    func setVariable() async throws -> OwnResponse {
        guard let variables = proxy.configuration.variables, variables.isDeclared(name) else {
            throw Problem.unknownVariable(name, known: proxy.configuration.variables?.reports.map(\.name) ?? [])
        }
        var text = String(decoding: request.content, as: UTF8.self)
        if text.last?.isNewline == true { text.removeLast() }
        guard VariableSettings.isUsable(text) else { throw Problem.unusableValue }
        let changed = await variables.set([(name, Secret(text))], at: proxy.now)
        return OwnResponse(json: ["variable": .string(name), "changed": .bool(!changed.isEmpty)])
    }
}

extension Problem {
    fileprivate static func unknownVariable(_ name: String, known: [String]) -> Problem {
        Problem(
            status: 404, title: "No such variable", proxyError: .httpRequestError,
            detail: "There is no variable ‘\(name.prefix(100))’.",
            advice: known.isEmpty
                ? "Declare it under `variables` in the configuration." : "Use \(known.joined(separator: ", ")).")
    }

    fileprivate static var unusableValue: Problem {
        Problem(
            status: 400, title: "Bad request", proxyError: .httpRequestError,
            detail: "The value is empty, longer than 8 KiB, or holds characters that no field may have.",
            advice: "Send visible ASCII characters, spaces and tabs as the content of the request.")
    }
}
