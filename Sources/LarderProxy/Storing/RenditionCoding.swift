// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderStores

/// The pipeline's output for a stored response, as bytes for the store: a version, the fingerprint of the
/// configuration that made it, whether it counts as data, the origin's status, and the head for clients.
enum RenditionCoding {
    private static let version: UInt8 = 1

    /// Nil for an untransformed variant.
    static func encode(_ variant: Variant) -> [UInt8]? {
        guard let rendition = variant.rendition else { return nil }
        let head = StoredResponse(
            status: rendition.status, fields: rendition.fields, requestTime: variant.stored.requestTime,
            responseTime: variant.stored.responseTime, policy: keepingAll)
        let octets = StoredResponseCoding.encode(head)
        var out = OctetWriter(room: octets.count + 16)
        out.append(version)
        out.append(mark: variant.fingerprint)
        out.append(rendition.isPromoted ? UInt8(1) : 0)
        out.append(rendition.originStatus.rawValue)
        out.append(rest: octets)
        return out.octets
    }

    /// The encoded rendition, if it is valid and was made by the configuration with `fingerprint`.
    static func decode(_ octets: [UInt8], madeBy fingerprint: UInt64) -> Rendition? {
        var reader = OctetReader(octets)
        guard reader.byte() == version, reader.mark() == fingerprint, let promoted = reader.byte(), promoted <= 1,
            let origin = reader.number(), (100...599).contains(origin),
            let head = StoredResponseCoding.decode(
                reader.rest(), requestTime: Timestamp(seconds: 0), responseTime: Timestamp(seconds: 0),
                contentLength: 0, policy: keepingAll)
        else { return nil }
        return Rendition(
            status: head.status, fields: head.fields, originStatus: Status(rawValue: origin),
            isPromoted: promoted == 1)
    }

    /// The fields were reduced to storable ones before they became a rendition's.
    private static var keepingAll: CachePolicy {
        var policy = CachePolicy()
        policy.role = .private
        return policy
    }
}
