// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderRules
import Testing

@testable import LarderProxy

@Suite("Stored responses as octets")
struct StoredResponseCodingTests {
    static let times = (Timestamp(seconds: 1_700_000_000), Timestamp(seconds: 1_700_000_001))

    static func response(
        _ fields: Fields, request: Fields = [:], status: Status = 200, method: LarderHTTP.Method = .get,
        length: Int64 = 7
    ) -> StoredResponse {
        StoredResponse(
            ResponseHead(status: status, fields: fields), to: RequestHead(method: method, fields: request),
            requestTime: times.0, responseTime: times.1, contentLength: length, policy: CachePolicy())
    }

    static let samples: [StoredResponse] = [
        response([:]), response(["Cache-Control": "max-age=60", "ETag": "\"1\"", "X-Empty": "", "x-own": "ä"]),
        response(
            ["Vary": "Accept-Language, Accept-Encoding, X-None"],
            request: ["Accept-Language": "de, en;q=0.5", "Accept-Encoding": ""]),
        response(
            ["Content-Range": "bytes 0-6/100"], request: ["Range": "bytes=0-6", "Authorization": "x"], status: 206),
        response([:], request: ["X-Tenant": "t"]), response(["A": "1"], status: 404, method: .head, length: 0),
        response([:]).marked(.stale, policy: CachePolicy()),
        response([:]).marked(.invalid, policy: CachePolicy()),
        response(["Vary": "X"], request: ["X": "Mixed CASE"]),
        parts([ByteRange(first: 0, last: 6)], of: 100),
        parts([ByteRange(first: 0, last: 2), ByteRange(first: 9, last: 12)], of: nil),
    ]

    static func parts(_ parts: [ByteRange], of completeLength: Int64?) -> StoredResponse {
        StoredResponse(
            status: 200, fields: ["ETag": "\"1\""], requestTime: times.0, responseTime: times.1, contentLength: 7,
            extent: .parts(parts, completeLength: completeLength), policy: CachePolicy())
    }

    func decode(_ octets: [UInt8], length: Int64 = 7) -> StoredResponse? {
        StoredResponseCoding.decode(
            octets, requestTime: Self.times.0, responseTime: Self.times.1, contentLength: length, policy: CachePolicy())
    }

    @Test(arguments: samples.indices) func `what was written is read`(index: Int) throws {
        let sample = Self.samples[index]
        let octets = StoredResponseCoding.encode(sample)
        let read = try #require(decode(octets, length: sample.contentLength ?? 0))
        #expect(read.requestMethod == sample.requestMethod)
        #expect(read.requestedRange == sample.requestedRange)
        #expect(read.requestWasAuthorized == sample.requestWasAuthorized)
        #expect(read.variance == sample.variance)
        #expect(read.status == sample.status)
        #expect(read.fields == sample.fields)
        #expect(read.standing == sample.standing)
        #expect(read.extent == sample.extent)
        #expect(read.facts.freshUntil == sample.facts.freshUntil)
        #expect(StoredResponseCoding.encode(read) == octets)
        #expect(StoredResponseCoding.variantKey(read.variance) == StoredResponseCoding.variantKey(sample.variance))
    }

    @Test(arguments: samples.indices) func `what is cut or has something behind it is no response`(index: Int) {
        let octets = StoredResponseCoding.encode(Self.samples[index])
        for count in octets.indices { #expect(decode(Array(octets[..<count])) == nil, "\(count) of \(octets.count)") }
        #expect(decode(octets + [0]) == nil)
    }

    @Test(arguments: samples.indices) func `a flipped bit is noticed, or gives what could have been written`(index: Int)
    {
        let octets = StoredResponseCoding.encode(Self.samples[index])
        for bit in 0..<octets.count * 8 {
            var flipped = octets
            flipped[bit / 8] ^= 1 << (bit % 8)
            guard let read = decode(flipped) else { continue }
            let again = StoredResponseCoding.encode(read)
            #expect(decode(again).map { StoredResponseCoding.encode($0) } == again, "bit \(bit)")
            for octet in again where octet == 0x0A { #expect(Bool(bit >= 0), "\(octet)") }
            read.fields.forEachLine { _, _, value in
                #expect(!value.contains { $0 == 0 || $0 == 0x0A || $0 == 0x0D }, "bit \(bit)")
            }
        }
    }

    @Test func `the pace of a stream is stored with its head`() throws {
        var recorder = StreamPace.Recorder()
        recorder.note(end: 3, at: .milliseconds(20))
        recorder.note(end: 7, at: .milliseconds(700))
        let pace = try #require(recorder.pace)
        for sample in Self.samples {
            let octets = StoredResponseCoding.encode(sample, pace: pace)
            #expect(StoredResponseCoding.pace(in: octets, contentLength: 7) == pace)
            #expect(decode(octets).map { StoredResponseCoding.encode($0) } != nil)
            // Of content that is shorter it cannot be the pace.
            #expect(decode(octets, length: 6) == nil)
            for count in octets.indices { #expect(decode(Array(octets[..<count])) == nil, "\(count)") }
            let plain = StoredResponseCoding.encode(sample)
            #expect(StoredResponseCoding.pace(in: plain, contentLength: 7) == nil)
        }
    }

    @Test func `names longer than a length field do not end the process`() throws {
        let name = String(repeating: "n", count: 70_000)
        var fields = Fields()
        let octets = Array(name.utf8)
        octets.withUnsafeBytes { name in
            Array("v".utf8).withUnsafeBytes { fields.appendReceived(spelling: name, value: $0) }
        }
        let encoded = StoredResponseCoding.encode(Self.response(fields))
        #expect(decode(encoded)?.fields.count == 2)
    }

    @Test func `lengths that point outside are no response`() {
        for octets in [
            [], [1], [1, 0], [2, 0, 0, 0], [1, 16], [1, 0, 0xFF, 0xFF],
            [1, 0, 0, 3] + Array("GET".utf8) + [0xFF, 0xFF, 0xFF, 0xFE],
        ] as [[UInt8]] {
            #expect(decode(octets) == nil)
        }
    }

    @Test func `variants are told apart by what their requests had`() {
        func key(_ request: Fields) -> [UInt8] {
            StoredResponseCoding.variantKey(Variance(vary: ["Vary": "A, B"], request: request))
        }
        let keys = [
            key([:]), key(["A": ""]), key(["A": "x"]), key(["B": "x"]), key(["A": "x", "B": ""]), key(["A": "xB"]),
        ]
        #expect(Set(keys).count == keys.count)
        #expect(key(["a": "x"]) == key(["A": "x"]))
    }
}
