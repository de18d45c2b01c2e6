// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import Testing

@testable import LarderProxy

@Suite("Renditions as octets")
struct RenditionCodingTests {
    private let variant = Variant(
        stored: .stored(["ETag": "\"origin\""]), content: .empty, storedAt: Timestamp(seconds: 1000), via: "1.1 larder",
        fingerprint: 0xFEDC_BA98_7654_3210,
        rendition: Rendition(
            status: 404, fields: ["ETag": "\"made\"", "Date": "Thu, 01 Jan 1970 00:16:40 GMT", "Set-Cookie": "a=1"],
            originStatus: 404, isPromoted: true))

    @Test func `what was written is read`() throws {
        let octets = try #require(RenditionCoding.encode(variant))
        let read = try #require(RenditionCoding.decode(octets, madeBy: variant.fingerprint))
        #expect(read.status == 404)
        #expect(read.originStatus == 404)
        #expect(read.isPromoted)
        #expect(read.fields == variant.rendition?.fields)
    }

    @Test func `EC-16 what is damaged, cut off, or another configuration's is not one`() throws {
        let octets = try #require(RenditionCoding.encode(variant))
        #expect(RenditionCoding.decode(octets, madeBy: variant.fingerprint + 1) == nil)
        for count in octets.indices {
            #expect(RenditionCoding.decode(Array(octets.prefix(count)), madeBy: variant.fingerprint) == nil)
        }
        for index in 0..<11 {
            var damaged = octets
            damaged[index] ^= 0x80
            #expect(RenditionCoding.decode(damaged, madeBy: variant.fingerprint) == nil, "octet \(index)")
        }
    }

    @Test func `what is as the origin sent it has none`() {
        #expect(RenditionCoding.encode(.variant("a")) == nil)
    }
}
