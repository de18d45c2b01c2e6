// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

/// The use of a recording in the request's lane. Confined to its loop.
struct LaneRecording: ExchangeStep {
    let exchange: Exchange

    /// Answers from the lane's replay; prepares its recording. True when the request has been answered.
    func consult(_ use: Lane.RecordingUse) async throws -> Bool {
        var content: [ContentChunk] = []
        if let received = request.content, !request.traits.wantsUpgrade {
            guard let read = try await received.readAhead(upTo: Recording.contentLimit) else {
                guard case .record(let recording) = use else {
                    if case .replay(let replay) = use {
                        replay.noteLack(of: request.head.method, request.uri.string)
                    }
                    throw received.hasNoRoom ? Problem.tooMuchToLookUp : .notRecorded(request.uri.string)
                }
                recording.omit()
                return false
            }
            content = read
        }
        switch use {
        case .record(let recording):
            guard !request.traits.wantsUpgrade, let draft = await draft(content) else {
                recording.omit()
                return false
            }
            writer.recorder = ExchangeRecorder(recording, draft.exchange, as: draft.key)
            return false
        case .replay(let replay):
            guard let found = request.traits.wantsUpgrade ? nil : try await answer(replay, content) else {
                replay.noteLack(of: request.head.method, request.uri.string)
                throw Problem.notRecorded(request.uri.string)
            }
            try await give(found)
            return true
        }
    }

    /// The request as it is recorded; nil where too many others wait for that.
    private func draft(_ content: [ContentChunk]) async -> (exchange: RecordedExchange, key: RecordingKey)? {
        let (method, url, fields) = (request.head.method.token, request.uri.string, recordedFields)
        let began = context.now()
        return try? await apart(content) { octets in
            let exchange = RecordedExchange(
                method: method, url: url, requestFields: fields, requestContent: octets, began: began)
            return (exchange, exchange.key)
        }
    }

    /// Looks the request up in the replay: content is searched for secrets, and there may be much more of it once it is
    /// decoded.
    private func answer(_ replay: Replay, _ content: [ContentChunk]) async throws -> RecordedExchange? {
        let (method, url, fields) = (request.head.method.token, request.uri.string, request.head.fields)
        do {
            return try await apart(content) { replay.answer(to: method, url, fields, content: $0) }
        } catch {
            throw Problem.tooMuchToLookUp
        }
    }

    /// Joins content and does something with it on another thread: each takes a while for much of it.
    private func apart<Result: Sendable>(
        _ content: [ContentChunk], _ body: @Sendable @escaping ([UInt8]) -> Result
    ) async throws -> Result {
        guard !content.isEmpty else { return body([]) }
        return try await context.proxy.readers().run { body(content.flatMap(\.bytes)) }
    }

    /// The client's fields, without credentials.
    private var recordedFields: Fields {
        var fields = request.head.fields
        HopByHop.strip(&fields, for: .store)
        fields.removeAll { name, spelling, _ in SecretName.isOne(field: name ?? FieldName(token: spelling)) }
        return fields
    }

    private func give(_ recorded: RecordedExchange) async throws {
        writer.record.kind = .hit
        writer.startHead(status: recorded.status, fields: recorded.fields)
        let isBodiless = request.traits.method == .head || recorded.status.isSentEmpty
        if isBodiless, recorded.status != 205,
            case let length?? = recorded.fields.withFirst(.contentLength, { Int64(decimal: $0) })
        {
            writer.appendLength(length)
        }
        writer.finishHead(
            length: isBodiless ? nil : Int64(recorded.content.count), cacheStatus: CacheStatus(.hit, detail: "recorded")
        )
        context.counters.add(.saved, recorded.content.count)
        try await writer.sendContent([ContentChunk(recorded.content)])
    }
}

extension Problem {
    fileprivate static let tooMuchToLookUp = Problem(
        status: 503, title: "Too many requests", proxyError: .proxyInternalResponse,
        detail: "Too many requests with long content wait to be looked up in recordings.",
        advice: "Send fewer at once.")

    static func notRecorded(_ url: String) -> Problem {
        Problem(
            status: 504, title: "Not recorded", proxyError: .httpRequestDenied,
            detail: "No request like this one for \(url.prefix(500)) was recorded.",
            advice: "Record the command again with `larder run --record NAME`: method, URL and content have to be the "
                + "same.")
    }
}
