// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// The pipeline's output for a stored response, as octets for the store: a version, the fingerprint of the
/// configuration that made it, whether it counts as data, the origin's status, and the head for clients.
enum RenditionCoding {
    private static let version: UInt8 = 1

    /// Nil for an untransformed variant.
    static func encode(_ variant: Variant) -> [UInt8]? {
        guard let rendition = variant.rendition else { return nil }
        var out: [UInt8] = [version]
        withUnsafeBytes(of: variant.fingerprint.bigEndian) { out.append(contentsOf: $0) }
        out.append(rendition.isPromoted ? 1 : 0)
        withUnsafeBytes(of: rendition.originStatus.rawValue.bigEndian) { out.append(contentsOf: $0) }
        let head = StoredResponse(
            status: rendition.status, fields: rendition.fields, requestTime: variant.stored.requestTime,
            responseTime: variant.stored.responseTime, policy: keepingAll)
        return out + StoredResponseCoding.encode(head, normalises: false)
    }

    /// The rendition, if `octets` are a valid one made by the configuration with `fingerprint`.
    static func decode(_ octets: [UInt8], madeBy fingerprint: UInt64) -> Rendition? {
        guard octets.count > 12, octets[0] == version, number(octets[1..<9]) == fingerprint, octets[9] <= 1,
            let origin = UInt16(exactly: number(octets[10..<12])), (100...599).contains(origin),
            let head = StoredResponseCoding.decode(
                Array(octets[12...]), requestTime: Timestamp(seconds: 0), responseTime: Timestamp(seconds: 0),
                contentLength: 0, policy: keepingAll)
        else { return nil }
        return Rendition(
            status: head.status, fields: head.fields, originStatus: Status(rawValue: origin),
            isPromoted: octets[9] == 1)
    }

    private static func number(_ octets: ArraySlice<UInt8>) -> UInt64 { octets.reduce(0) { $0 << 8 | UInt64($1) } }

    /// The fields were reduced to storable ones before they became a rendition's.
    private static var keepingAll: CachePolicy {
        var policy = CachePolicy()
        policy.role = .private
        return policy
    }
}
