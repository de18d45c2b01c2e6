// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderRules
import LarderStores

/// Stored responses as bytes for the store, and back.
///
/// The format is a version and flags, the pace of a stream if there is one, the place, then method, range, variance, status, fields
/// and, for an incomplete response, the stored ranges, each with its length in front. Reading trusts nothing: bytes
/// that are not exactly what writing produces give nil, which is a miss.
package enum StoredResponseCoding {
    private static let version: UInt8 = 4
    /// The versions without a place; the first is without `Flags.cookie` too.
    private static let earlier: [UInt8] = [2, 3]

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let authorized = Flags(rawValue: 1)
        /// Always set in version 2.
        static let cookie = Flags(rawValue: 2)
        static let stale = Flags(rawValue: 4)
        static let invalid = Flags(rawValue: 8)
        /// The stored ranges follow the fields.
        static let parts = Flags(rawValue: 16)
        static let personal = Flags(rawValue: 32)
        /// The pace of a stream follows the flags.
        static let paced = Flags(rawValue: 64)
        static let credentials = Flags(rawValue: 128)

        static let traces: [(UserTraces, Flags)] = [
            (.authorization, .authorized), (.credentialBesideKey, .personal), (.anyCredential, .credentials),
            (.cookie, .cookie),
        ]
    }

    /// The head of `stored` for the store. Times and content are stored beside it.
    ///
    /// - Parameter pace: when the bytes of its content had come.
    package static func encode(_ stored: StoredResponse, pace: StreamPace? = nil) -> [UInt8] {
        var out = OctetWriter(room: OctetWriter.room(for: stored.fields) + 64 + (pace?.octets.count ?? 0))
        out.append(version)
        var flags: Flags = []
        for (trace, flag) in Flags.traces where stored.traces.contains(trace) { flags.insert(flag) }
        if stored.standing == .stale { flags.insert(.stale) }
        if stored.standing == .invalid { flags.insert(.invalid) }
        if pace != nil { flags.insert(.paced) }
        // A 206 has its range in its fields.
        var parts: ([ByteRange], Int64?)?
        if stored.status != 206, case .parts(let held, let completeLength) = stored.extent {
            flags.insert(.parts)
            parts = (held, completeLength)
        }
        out.append(flags.rawValue)
        if let pace { out.append(run: pace.octets) }
        out.append(optional: stored.place.map { Array($0.utf8) })
        out.append(run: stored.requestMethod.token)
        out.append(optional: stored.requestedRange)
        out.append(count: stored.variance.selectors.count)
        for selector in stored.variance.selectors {
            out.append(run: selector.name.canonical)
            out.append(optional: selector.value)
        }
        out.append(stored.status.rawValue)
        out.append(stored.fields)
        if let (held, completeLength) = parts {
            out.append(count: held.count)
            for range in held {
                out.append(place: range.first)
                out.append(place: range.last)
            }
            // No content has that many bytes.
            out.append(place: completeLength ?? .max)
        }
        return out.octets
    }

    /// Identifies this variant within its key; equal for responses selected by the same requests.
    package static func variantKey(_ variance: Variance) -> [UInt8] {
        var out = OctetWriter()
        for selector in variance.selectors {
            out.append(run: selector.name.canonical)
            out.append(optional: selector.normal)
        }
        return out.octets
    }

    /// The response written by `encode`, under the current policy; nil when the bytes are invalid.
    package static func decode(
        _ octets: [UInt8], requestTime: Timestamp, responseTime: Timestamp, contentLength: Int64, policy: CachePolicy
    ) -> StoredResponse? {
        var reader = OctetReader(octets)
        guard let (flags, version) = flags(&reader) else { return nil }
        if flags.contains(.paced) {
            guard let run = reader.run(), StreamPace(stored: run, length: contentLength) != nil else { return nil }
        }
        var place: [UInt8]?
        if version == self.version {
            guard case .some(let found) = reader.optional() else { return nil }
            place = found
        }
        guard let methodToken = reader.run(), let method = Method(String(decoding: methodToken, as: UTF8.self)),
            case .some(let range) = reader.optional(),
            let variance = variance(&reader),
            let status = reader.number(), (100...599).contains(status),
            let fields = reader.fields()
        else { return nil }
        var extent: StoredResponse.Extent?
        if flags.contains(.parts) {
            guard status != 206, let parts = parts(&reader, contentLength: contentLength) else { return nil }
            extent = parts
        }
        guard reader.isAtEnd else { return nil }
        return StoredResponse(
            requestMethod: method, requestedRange: range,
            traces: UserTraces(Flags.traces.filter { flags.contains($0.1) }.map(\.0)),
            place: place.map { String(decoding: $0, as: UTF8.self) }, variance: variance,
            status: Status(rawValue: status), fields: fields, requestTime: requestTime,
            responseTime: responseTime, contentLength: contentLength, extent: extent,
            standing: flags.contains(.invalid) ? .invalid : flags.contains(.stale) ? .stale : .asReceived,
            policy: policy)
    }

    /// The pace of a stream in bytes that `decode` accepts, if there is one.
    package static func pace(in octets: [UInt8], contentLength: Int64) -> StreamPace? {
        var reader = OctetReader(octets)
        guard flags(&reader)?.flags.contains(.paced) == true else { return nil }
        return reader.run().flatMap { StreamPace(stored: $0, length: contentLength) }
    }

    private static func flags(_ reader: inout OctetReader) -> (flags: Flags, version: UInt8)? {
        guard let found = reader.byte(), found == version || earlier.contains(found), let raw = reader.byte() else {
            return nil
        }
        return (found == 2 ? Flags(rawValue: raw).subtracting(.cookie) : Flags(rawValue: raw), found)
    }

    private static func variance(_ reader: inout OctetReader) -> Variance? {
        guard let count = reader.count() else { return nil }
        var selectors: [Variance.Selector] = []
        for _ in 0..<count {
            guard let octets = reader.run(), let name = octets.withUnsafeBytes({ FieldName(bytes: $0) }),
                case .some(let value) = reader.optional()
            else { return nil }
            selectors.append(Variance.Selector(name: name, value: value))
        }
        return Variance(selectors: selectors)
    }

    /// The ordered, separate ranges of a partial response, whose lengths add up to `contentLength`.
    private static func parts(_ reader: inout OctetReader, contentLength: Int64) -> StoredResponse.Extent? {
        guard let count = reader.count(), (1...PartialContent.partLimit).contains(Int(count)) else { return nil }
        var parts: [ByteRange] = []
        for _ in 0..<count {
            guard let first = reader.place(), let last = reader.place(), first <= last, last < .max,
                parts.last.map({ $0.last + 1 < first }) ?? true
            else { return nil }
            parts.append(ByteRange(first: first, last: last))
        }
        guard let end = reader.place(), let last = parts.last, last.last < end,
            parts.reduce(0, { $0 + $1.count }) == contentLength, contentLength < end
        else { return nil }
        return .parts(parts, completeLength: end == .max ? nil : end)
    }
}
