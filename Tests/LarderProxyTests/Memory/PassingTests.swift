// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderRules
import LarderTesting
import Testing

@testable import Larder

/// Resources whose responses are not kept leave memory soon, and leave a trace.
@Suite("The registry of Resources: responses that are not kept")
struct PassingTests {
    let service = Service("test", baseURL: "http://a.example/", transport: StubTransport())
    let registry = Registry(limit: 16 << 20)

    func key(_ number: Int) -> ResourceKey {
        ResourceKey(
            bytes: Array(String(10_000_000 + number).utf8), hash: UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
    }

    func resource(_ number: Int) -> Resource {
        registry.resource(for: key(number)) { key in
            Resource(service: service, url: ResourceURL("http://a.example/"), partition: .shared, key: key)
        }
    }

    struct Refused: Error {}

    /// A response that is not kept.
    func pass(_ number: Int, status: Status = 200) throws {
        let head = ResponseHead(status: status, fields: ["Cache-Control": "no-store"])
        let request = RequestHead(method: .get, target: "/", fields: ["Host": "a.example"])
        let trial = Storability.Trial(
            request: request, target: try TargetURI("http://a.example/"), response: head, policy: CachePolicy(),
            responseTime: Timestamp(seconds: Int64(number)))
        let resource = resource(number)
        resource.memory.unstored = UnstoredResponse(head, at: Timestamp(seconds: Int64(number)), trial.findings)
        registry.pass(resource)
    }

    @Test func `a few hundred stay, and those before them are told why`() throws {
        for number in 0..<20_000 { try pass(number) }
        #expect((220...64 * 4).contains(registry.count))
        #expect(registry.checkInvariants() == [])
        let known = (0..<20_000).count {
            registry.unstored(for: key($0)) != nil || registry.resource(for: key($0)) != nil
        }
        #expect(known > 4_000)
        #expect(registry.resource(for: key(19_999))?.memory.unstored?.fields.contains(.cacheControl) == true)
        let traced = try #require((0..<20_000).last { registry.unstored(for: key($0)) != nil })
        let trace = try #require(registry.unstored(for: key(traced)))
        #expect(trace.at == Timestamp(seconds: Int64(traced)) && trace.status == 200)
        #expect(trace.reason == .condition(.noStore))
        #expect(trace.conditions.first { !$0.passed }?.field == .cacheControl)
        #expect(trace.fields.isEmpty)
    }

    @Test func `a trace takes 64 octets at most`() throws {
        for number in 0..<40_000 { try pass(number) }
        let rest = registry.bytes - registry.count * (Registry.overhead + 8)
        let traced = (0..<40_000).count { registry.unstored(for: key($0)) != nil }
        #expect(rest <= registry.limit / 64)
        #expect(traced > 3_500 && rest / traced <= 64, "\(rest) octets for \(traced)")
    }

    @Test func `a Resource that comes back knows why`() throws {
        for number in 0..<2_500 { try pass(number, status: number.isMultiple(of: 2) ? 404 : 200) }
        let traced = try #require((0..<2_500).first { registry.unstored(for: key($0)) != nil })
        #expect(registry.resource(for: key(traced)) == nil)
        #expect(resource(traced).memory.unstored?.status == (traced.isMultiple(of: 2) ? 404 : 200))
        // It is the Resource's again.
        #expect(registry.unstored(for: key(traced)) == nil)
        #expect(registry.checkInvariants() == [])
    }

    @Test func `what is forgotten leaves no trace`() throws {
        for number in 0..<2_500 { try pass(number) }
        let traced = (0..<2_500).filter { registry.unstored(for: key($0)) != nil }
        let (first, second) = try (#require(traced.first), #require(traced.last))
        registry.forgetUnstored(for: key(first))
        #expect(registry.unstored(for: key(first)) == nil)
        #expect(registry.unstored(for: key(second)) != nil)
        registry.forgetUnstored()
        #expect(registry.unstored(for: key(second)) == nil)
        #expect(registry.bytes == registry.count * (Registry.overhead + 8))
        #expect(registry.checkInvariants() == [])
    }

    @Test func `nearly all are remembered while there is room for more`() throws {
        for number in 0..<3_000 {
            try pass(number)
            guard number.isMultiple(of: 500) else { continue }
            let known = (0...number).count {
                registry.unstored(for: key($0)) != nil || registry.resource(for: key($0)) != nil
            }
            #expect(known >= number * 95 / 100, "\(known) of \(number)")
        }
    }

    @Test func `less room forgets them, and is room for others`() throws {
        for number in 0..<5_000 { try pass(number) }
        registry.limit = 64 * 16 * 1_200 + 10_000
        try pass(5_000)
        registry.charge(resource(5_001), content: 5_000)
        #expect(registry.bytes <= registry.limit)
        #expect(registry.resource(for: key(5_001)) != nil)
        #expect(registry.checkInvariants() == [])
    }

    @Test func `one that keeps something, is held or has failed stays`() throws {
        try pass(0)
        registry.charge(resource(0), content: 1)
        try pass(1)
        let held = resource(1)
        try pass(2)
        resource(2).memory.remember(
            LoadFailure(at: Timestamp(seconds: 1), retryAt: Timestamp(seconds: 10), error: Refused()))
        for number in 3..<5_000 { try pass(number) }
        #expect(registry.resource(for: key(0)) != nil)
        #expect(registry.resource(for: key(1)) === held)
        #expect(registry.resource(for: key(2))?.memory.snapshot.failure != nil)
        #expect(registry.checkInvariants() == [])
    }

    @Test func `many that are held at once are passed over`() throws {
        let held = try (0..<3_000).map { number -> Resource in
            try pass(number)
            return resource(number)
        }
        #expect(registry.count == 3_000)
        withExtendedLifetime(held) {}
        for number in 3_000..<10_000 { try pass(number) }
        #expect(registry.checkInvariants() == [])
    }
}
