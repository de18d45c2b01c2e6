// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

/// Records one exchange: the response as sent to the client, without fields of this connection alone.
///
/// Confined to its exchange's loop.
final class ExchangeRecorder {
    private let recording: Recording
    private var draft: RecordedExchange
    private let key: RecordingKey
    private var hasHead = false
    private var isFinished = false
    private var isTooLong = false
    /// The bytes of content so far, for which the recording has room.
    private var reserved = 0

    init(_ recording: Recording, _ draft: RecordedExchange, as key: RecordingKey) {
        self.recording = recording
        self.draft = draft
        self.key = key
        if !reserve(draft.requestContent.count) { self.draft.requestContent = [] }
    }

    deinit {
        recording.giveBack(reserved)
        // It broke off.
        if hasHead, !isFinished { recording.omit() }
    }

    private func reserve(_ octets: Int) -> Bool {
        isTooLong = isTooLong || !recording.reserve(octets)
        if !isTooLong { reserved += octets }
        return !isTooLong
    }

    /// Fields about the path to this client, or added to each response anew.
    private static let ofTheConnection: Set<FieldName> = [
        .connection, .transferEncoding, .keepAlive, .via, .cacheStatus, .proxyStatus, .age,
    ]

    /// - Parameters:
    ///   - out: the response head as it is sent.
    ///   - hasContent: whether content follows, which determines its length.
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
            if reserve(chunk.count) { chunk.withBytes { draft.content.append(contentsOf: $0) } }
        }
        guard isTooLong else { return }
        (draft.content, draft.requestContent) = ([], [])
        recording.giveBack(reserved)
        reserved = 0
    }

    /// The response was sent completely.
    func finish(_ status: Status, after duration: Duration) {
        isFinished = true
        guard hasHead, status.rawValue >= 200, !isTooLong else { return recording.omit() }
        draft.status = status
        draft.duration = duration
        recording.giveBack(reserved)
        reserved = 0
        recording.add(draft, as: key)
    }
}
