// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

extension Exchange {
    /// The problem of an offline request that no stored response can answer, with the nearest stored URLs.
    func offlineProblem(_ retrieval: Retrieval) async -> Problem {
        let (service, way) = (retrieval.service, retrieval.way)
        let stored = await context.proxy.nearestStored(
            to: uri, service: service, partition: retrieval.resource.partition, limit: 5)
        let mapping = GatewayMapping(
            table: context.configuration.router.table, service: service, way: way, target: uri,
            authority: head.fields[first: .host] ?? connection.client.localHost, isSecure: stream.isSecure)
        return .offline(
            uri: uri, stored: stored.map { way.isGateway ? mapping.mapped(reference: $0) ?? $0 : $0 },
            isLaneOffline: isLaneOffline)
    }
}

extension Problem {
    private static func goingOnline(isLaneOffline: Bool) -> String {
        isLaneOffline
            ? "The command was started with `larder run --offline`: leave that out to have the origin asked."
            : "Go online to have the origin asked: `larder offline off`."
    }

    static func offline(uri: TargetURI, stored: [String], isLaneOffline: Bool) -> Problem {
        let goingOnline = goingOnline(isLaneOffline: isLaneOffline)
        let near =
            stored.isEmpty
            ? "Nothing near it is stored."
            : "Stored are: " + stored.map { String($0.prefix(500)) }.joined(separator: ", ")
        return Problem(
            status: 504, title: "Offline", proxyError: .destinationUnavailable,
            detail:
                "Nothing stored may answer for \(uri.string.prefix(500)), and origins are not asked (offline). \(near)",
            advice: stored.isEmpty ? goingOnline : "Use one of these. \(goingOnline)")
    }

    /// For requests that stored responses never answer: writes, tunnels.
    static func offline(_ method: Method, to place: String, isLaneOffline: Bool) -> Problem {
        Problem(
            status: 504, title: "Offline", proxyError: .destinationUnavailable,
            detail: "\(method) needs \(place), and origins are not asked (offline).",
            advice: goingOnline(isLaneOffline: isLaneOffline))
    }
}
