// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules

/// `/-/lanes`: the requests of commands; opens and closes their lanes.
extension AdminCall {
    func lanes() -> OwnResponse { OwnResponse(json: ["lanes": .array(proxy.lanes.all.map { $0.json(proxy) })]) }

    func lane() throws -> OwnResponse {
        guard let lane = proxy.lanes.lane(name) else { throw Problem.nothingThere(request.path) }
        return OwnResponse(json: lane.json(proxy))
    }

    func closeLane() async throws -> OwnResponse {
        let keepsRecording = try parameters.choice("recording", of: ["keep", "drop"], default: "keep") == "keep"
        guard let known = proxy.lanes.lane(name), mayEnd(known), let lane = proxy.lanes.close(name) else {
            throw Problem.nothingThere(request.path)
        }
        proxy.closeDoor(of: lane)
        await AdminCall.settle(lane)
        var former: Recording?
        if keepsRecording, case .record(let recording) = lane.options.recordingUse {
            former = try await walkers.run { try proxy.recordings.saveUnlessEmpty(recording) }
        }
        return OwnResponse(json: lane.json(proxy, instead: former))
    }

    /// True if the client may end the lane: any lane for those who may make changes, else its own.
    private func mayEnd(_ lane: Lane) -> Bool {
        !request.isForLanes || knownUser.map { $0 == lane.options.owner } ?? false
    }

    /// The client's user, where it is told apart from all others.
    private var knownUser: UInt32? { request.user.flatMap { $0 == SocketOwner.unknown ? nil : $0 } }

    /// Waits for requests under way, for which a command that has ended no longer waits.
    private static func settle(_ lane: Lane) async {
        for _ in 0..<200 where lane.isBusy { await Alarms.shared.sleep(for: .milliseconds(5)) }
    }

    /// The only response that contains the token. Every user of this machine may open lanes, but not keep or read
    /// recordings, which have no owners.
    func openLane() async throws -> OwnResponse {
        let user = knownUser
        if request.isForLanes {
            guard user != nil else { throw Problem.unknownUser }
            guard parameters.text("record") == nil, parameters.text("replay") == nil else {
                throw Problem.recordingNeedsOperator
            }
        }
        var options = Lane.Options()
        options.owner = user
        options.name = String((parameters.text("name") ?? "").prefix(80))
        options.opensAll = try !parameters.flag("tunnel")
        options.isOffline = try parameters.flag("offline")
        options.recordingUse = try await recordingUse()
        // A replay sends nothing to origins, tunnels included.
        if case .replay = options.recordingUse { options.isOffline = true }
        let now = proxy.now
        if options.opensAll { _ = try await walkers.run { try proxy.interception.makeAuthority(now: now) } }
        let reason = try parameters.flag("door") ? await proxy.doorObstacle() : nil
        options.hasDoor = try parameters.flag("door") && user != nil && reason == nil
        if options.hasDoor, let user, proxy.lanes.isFull(for: user) { throw Problem.tooManyLanes }
        let lane = proxy.lanes.open(options, at: now)
        var door = JSONValue.null
        if options.hasDoor, let user {
            do {
                door = .string("\(try await proxy.openDoor(of: lane, for: user))")
            } catch {
                _ = proxy.lanes.close(lane.id)
                throw error
            }
        }
        return OwnResponse(
            json: [
                "id": .string(lane.id), "user": .string("\(Lane.userPrefix)\(lane.token)"), "door": door,
                "doorObstacle": reason.map { .string($0) } ?? .null,
            ])
    }

    private func recordingUse() async throws -> Lane.RecordingUse? {
        let (new, old) = (parameters.text("record"), parameters.text("replay"))
        guard let name = new ?? old else { return nil }
        guard new == nil || old == nil else {
            throw Problem.badParameter("A lane records or replays, not both.", advice: "Leave one out.")
        }
        guard Recording.isName(name) else {
            throw Problem.badParameter(
                "‘\(name.prefix(80))’ cannot be the name of a recording.",
                advice: "Use up to 80 letters, digits and . _ -, beginning with a letter or digit.")
        }
        if new != nil { return .record(Recording(name: name, in: proxy.lanes.recordingRoom)) }
        guard let recording = try await walkers.run({ try proxy.recordings.recording(name) }) else {
            var problem = Problem.noRecording(name)
            problem.advice =
                "Record it with `larder run --record \(name) -- COMMAND`; `larder lane list` shows what there is."
            throw problem
        }
        guard let share = proxy.lanes.recordingRoom.share(of: recording.octets) else {
            throw Problem(
                status: 503, title: "Too many recordings", proxyError: .proxyInternalError,
                detail: "The recordings of all lanes take as much memory as they may.",
                advice: "Wait for other runs to end, or close lanes: `larder lane list` shows them.")
        }
        return .replay(Replay(recording, share))
    }
}

extension Problem {
    fileprivate static let unknownUser = Problem(
        status: 403, title: "Unknown user", proxyError: .httpRequestDenied,
        detail: "The daemon runs where it cannot tell this machine's users apart, so it opens lanes for none of them.",
        advice: "Run it without a user namespace of its own (`PrivateUsers=no` in its unit).")

    fileprivate static let tooManyLanes = Problem(
        status: 429, title: "Too many lanes", proxyError: .proxyInternalResponse,
        detail: "You have \(LaneTable.doorLimit) open lanes, as many as one user may have.",
        advice: "Wait for some of your `larder run` to end, or close lanes that were left behind: over this socket "
            + "`GET /-/lanes` lists them and `DELETE /-/lanes/ID` closes one.")

    fileprivate static let recordingNeedsOperator = Problem(
        status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
        detail: "Recordings are kept by the daemon; those who may use its admin socket make and replay them.",
        advice: "Run a daemon of your own, or ask for the membership of the socket's group.")
}

extension Lane {
    /// - Parameter former: the recording of the same name that was not replaced.
    private func recording(instead former: Recording?) -> JSONValue {
        switch options.recordingUse {
        case nil: .null
        case .record(let recording):
            [
                "name": .string(recording.name), "isReplayed": false, "requests": .integer(recording.count),
                "bytes": .integer(recording.octets), "omitted": .integer(recording.omitted),
                "keptRequests": former.map { .integer($0.count) } ?? .null,
            ]
        case .replay(let replay):
            [
                "name": .string(replay.name), "isReplayed": true, "requests": .integer(replay.count),
                "lacking": .integer(replay.lacking.requests), "firstLacking": .strings(replay.lacking.first),
            ]
        }
    }

    fileprivate func json(_ proxy: Proxy, instead former: Recording? = nil) -> JSONValue {
        let counts = counts
        var outcomes = JSONObject()
        for kind in LoopCounters.Kind.allCases where kind != .own {
            outcomes["\(kind)"] = .integer(counts.value(kind))
        }
        let reasons = counts.uncacheable.sorted { ($1.value.requests, $0.key) < ($0.value.requests, $1.key) }
        return [
            "id": .string(id), "name": .string(options.name), "opensAll": .bool(options.opensAll),
            "offline": .bool(options.isOffline), "recording": recording(instead: former),
            "began": .time(began), "last": .time(counts.last),
            "requests": .integer(counts.requests), "hits": .integer(counts.hits), "missed": .integer(counts.missed),
            "outcomes": .object(outcomes),
            "bytes": ["sent": .integer(counts.sent), "saved": .integer(counts.saved)],
            "secondsSaved": .seconds(counts.timeSaved),
            "uncacheable": .array(
                reasons.map { reason, line in
                    [
                        "reason": .string(reason), "requests": .integer(line.requests),
                        "why": .string(ExplainedStorage.reason(reason)), "example": .string(line.example),
                    ]
                }),
            "stored": .integer(counts.stored),
            "missing": ["requests": .integer(counts.missing.requests), "first": .strings(counts.missing.first)],
            "otherHosts": .array(
                counts.otherHosts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { host, requests in
                    ["host": .string(host), "requests": .integer(requests)]
                }),
            "tunnels": .array(
                counts.tunnels.lines.prefix(InterceptionReport.limit).map { line in
                    [
                        "host": .string("\(line.authority)"), "requests": .integer(line.requests),
                        "bytes": .integer(line.octets), "reason": .string(line.reason.rawValue),
                        "why": .string(line.reason.words),
                    ]
                }),
        ]
    }
}
