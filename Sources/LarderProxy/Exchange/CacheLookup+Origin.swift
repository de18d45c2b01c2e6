// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderUpstream

/// Requests whose origin is in backoff, or not asked at all.
extension CacheLookup {
    /// The state of the origin of the Resource's content.
    var outlook: LiveOutlook {
        var outlook = request.outlook(service, configuration)
        outlook.isReadByContent = keyed != nil
        outlook.snapshot = snapshot
        if request.traits.method != .head, isJoinable, !isWary { outlook.memory = resource.memory }
        outlook.passedOver = passedOver
        return outlook
    }

    /// True if the request may share a load.
    var isJoinable: Bool { !asksAlone && request.traits.mayJoin(configuration) }

    /// Answers with stored data if the plan has some, else with the error that caused the backoff. False when the
    /// backoff has ended: to be decided anew.
    func serveMeanwhile(
        _ wait: Plan.Wait, _ plan: Plan, _ snapshot: ResourceMemory.Snapshot
    ) async throws -> Bool {
        if let successor { return try await retrieve(from: successor) }
        let error: (any Error)? =
            switch wait.cause {
            case .retryTime: snapshot.failure?.error
            case .held: outlook.refusal
            }
        guard let error, let status = CacheStatus(plan) else { return false }
        if case .held = wait.cause { context.counters.add(.upstreamHeld) }
        if let stale = wait.stale {
            writer.record.kind = .stale
            return try await serve(snapshot.variants[stale.index], StoredUse(age: stale.age, status: status))
        }
        writer.record.cacheStatus = status
        var problem = Problem(upstream: error, place: request.uri.authority)
        if case .retryTime = wait.cause, let failure = snapshot.failure { problem.repeats(failure, at: context.now()) }
        throw problem
    }

    /// The service's successor, if there is one: credentials changed while the store was read. Failures are of the old
    /// ones, and responses to them are for another partition, or wiped.
    var successor: RoutedService? { service.successor(in: context.configuration.router.table) }

    func retrieve(from successor: RoutedService) async throws -> Bool {
        try await exchange.retrieve(successor, keyed: keyed)
        return true
    }

    /// Throws where no origin may be asked, although it had been decided that one was not needed.
    func checkAsking() async throws {
        if request.offlineMode(service, configuration) == .on { throw await offlineProblem }
        if CacheControl.Request(request.head.fields).onlyIfCached {
            throw Problem.notStored(.onlyIfCached, uri: request.uri)
        }
    }

    /// The problem of an offline request that no stored response can answer, with the nearest stored URLs for clients who
    /// may see those.
    var offlineProblem: Problem {
        get async {
            let stored =
                request.maySeeURLs
                ? await context.proxy.nearestStored(
                    to: request.uri, service: service, partition: resource.partition, limit: 5) : nil
            return .offline(
                uri: request.uri,
                stored: stored?.map { request.mapped(reference: SecretText.scrubbed(url: $0), by: service) },
                isLaneOffline: request.isLaneOffline)
        }
    }
}

extension Problem {
    private static func goingOnline(isLaneOffline: Bool) -> String {
        isLaneOffline
            ? "The command was started with `larder run --offline`: leave that out to have the origin asked."
            : "Go online to have the origin asked: `larder offline off`."
    }

    /// - Parameter stored: the nearest stored URLs; nil for a client who may not see any.
    static func offline(uri: TargetURI, stored: [String]?, isLaneOffline: Bool) -> Problem {
        let goingOnline = goingOnline(isLaneOffline: isLaneOffline)
        var near = ""
        if let stored {
            near =
                stored.isEmpty
                ? " Nothing near it is stored."
                : " Stored are: " + stored.map { String($0.prefix(500)) }.joined(separator: ", ")
        }
        return Problem(
            status: 504, title: "Offline", proxyError: .destinationUnavailable,
            detail:
                "Nothing stored may answer for \(uri.string.prefix(500)), and origins are not asked (offline).\(near)",
            advice: stored?.isEmpty ?? true ? goingOnline : "Use one of these. \(goingOnline)")
    }

    /// For requests that stored responses never answer: writes, tunnels.
    static func offline(_ method: Method, to place: String, isLaneOffline: Bool) -> Problem {
        Problem(
            status: 504, title: "Offline", proxyError: .destinationUnavailable,
            detail: "\(method) needs \(place), and origins are not asked (offline).",
            advice: goingOnline(isLaneOffline: isLaneOffline))
    }
}
