// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

extension Exchange {
    /// Answers from the lane's replay; prepares its recording. True when the request has been answered.
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

    /// The client's fields, without credentials.
    private var recordedFields: Fields {
        var fields = head.fields
        HopByHop.strip(&fields, for: .store)
        fields.removeAll { name, spelling, _ in SecretName.isOne(field: name ?? FieldName(token: spelling)) }
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

    /// Saves the response, now that the client has all of it.
    func finishRecording() {
        guard let recorder else { return }
        self.recorder = nil
        // An error response made by Larder is not the origin's.
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
