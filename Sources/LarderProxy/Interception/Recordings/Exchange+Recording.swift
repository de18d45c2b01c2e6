// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

/// What one exchange adds to a recording: what the client is sent, without what is only of this connection.
///
/// Confined to its exchange's loop.
final class ExchangeRecorder {
    private let recording: Recording
    private var draft: RecordedExchange
    private var hasHead = false
    private var isTooLong = false

    init(_ recording: Recording, _ draft: RecordedExchange) {
        self.recording = recording
        self.draft = draft
    }

    /// What is said of the way to this client, or added to each answer anew.
    private static let ofTheConnection: Set<FieldName> = [
        .connection, .transferEncoding, .keepAlive, .via, .cacheStatus, .proxyStatus, .age,
    ]

    /// - Parameters:
    ///   - out: the response head as it is sent.
    ///   - hasContent: whether content follows, whose length is known from itself.
    func take(head out: [UInt8], hasContent: Bool) {
        guard !hasHead else { return }
        hasHead = true
        var fields = Fields()
        out.withUnsafeBytes { octets in
            for line in octets.split(separator: 0x0A).dropFirst() {
                let line = line.last == 0x0D ? line.dropLast() : line
                guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
                let name = UnsafeRawBufferPointer(rebasing: line[..<colon])
                let value = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...].drop { $0 == 0x20 })
                fields.appendReceived(spelling: name, value: value)
            }
        }
        fields.removeAll { name, spelling, _ in
            let name = name ?? FieldName(token: spelling)
            return ExchangeRecorder.ofTheConnection.contains(name) || hasContent && name == .contentLength
        }
        draft.fields = fields
    }

    func take(_ chunks: [ContentChunk]) {
        for chunk in chunks where !isTooLong {
            isTooLong = draft.content.count + chunk.count > Recording.contentLimit
            chunk.withBytes { draft.content.append(contentsOf: $0) }
        }
        if isTooLong { draft.content = [] }
    }

    /// The client has all of it.
    func finish(_ status: Status, after duration: Duration) {
        guard hasHead, status.rawValue >= 200, !isTooLong else { return recording.omit() }
        draft.status = status
        draft.duration = duration
        recording.add(draft)
    }
}

extension Exchange {
    /// Answers from what the lane replays; prepares what it records. True when the request has been answered.
    func consultRecording() async throws -> Bool {
        guard let use = lane?.options.recordingUse else { return false }
        var octets: [UInt8] = []
        if let content, !traits.wantsUpgrade {
            guard let read = try await content.readAhead(upTo: Recording.contentLimit) else {
                guard case .record(let recording) = use else { throw Problem.notRecorded(uri.string) }
                recording.omit()
                return false
            }
            octets = read.flatMap(\.bytes)
        }
        switch use {
        case .record(let recording):
            guard !traits.wantsUpgrade else {
                recording.omit()
                return false
            }
            recorder = ExchangeRecorder(
                recording,
                RecordedExchange(
                    method: head.method.token, url: uri.string, requestFields: recordedFields,
                    requestContent: octets, began: context.now()))
            return false
        case .replay(let replay):
            let found =
                traits.wantsUpgrade
                ? nil
                : replay.answer(
                    to: head.method.token, uri.string, range: head.fields[.range], content: octets,
                    type: head.fields[.contentType])
            guard let found else { throw Problem.notRecorded(uri.string) }
            try await give(found)
            return true
        }
    }

    /// What the client sent beside content, without what admits it anywhere.
    private var recordedFields: Fields {
        var fields = head.fields
        HopByHop.strip(&fields, for: .store)
        fields.removeAll { name, spelling, _ in SecretText.isSecret(field: name ?? FieldName(token: spelling)) }
        return fields
    }

    private func give(_ recorded: RecordedExchange) async throws {
        record.kind = .hit
        startHead(status: recorded.status, fields: recorded.fields)
        let isBodiless = traits.method == .head || recorded.status.hasNoContent
        if isBodiless, let length = recorded.fields[first: .contentLength].flatMap({ Int64($0) }) {
            PreparedHead.appendField("Content-Length", number: length, to: &out)
        }
        finishHead(
            length: isBodiless ? nil : Int64(recorded.content.count), cacheStatus: CacheStatus(.hit, detail: "recorded")
        )
        context.counters.add(.saved, recorded.content.count)
        guard !isBodiless else { return try await sendHead() }
        try await sendHead(with: [ContentChunk(recorded.content)])
    }

    /// Keeps what the client has got, now that it has all of it.
    func finishRecording() {
        guard let recorder else { return }
        self.recorder = nil
        // What Larder itself says is wrong is no answer of the origin's.
        guard hasResponded, record.problem == nil else { return }
        recorder.finish(record.status, after: .nanoseconds(context.loop.time.monotonic() - record.startedAt))
    }
}

extension Problem {
    static func notRecorded(_ url: String) -> Problem {
        Problem(
            status: 504, title: "Not recorded", proxyError: .httpRequestDenied,
            detail: "No request like this one for \(url.prefix(500)) was recorded.",
            advice: "Record the command again with `larder run --record NAME`: method, URL and content have to be the "
                + "same.")
    }
}
