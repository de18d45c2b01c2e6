// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings
import LarderShared
import LarderStores
import Testing

@testable import LarderSharing

@Suite("What is shared")
struct SharingRulesTests {
    private let rules = SharingRules(choice: .all, limit: 100)
    private static let now = Timestamp(seconds: 1_000_000_000)

    private func stored(_ fields: Fields, request: Fields = [:], status: Status = 200) -> StoredResponse {
        StoredResponse(
            ResponseHead(status: status, fields: fields), to: RequestHead(method: .get, target: "/a", fields: request),
            requestTime: Self.now, responseTime: Self.now, contentLength: 5, policy: CachePolicy())
    }

    @Test func `a clock that was wrong when the log broke does not make all that is stored later outdated`() throws {
        var settings = Settings().sharedCache
        settings.url = EngineURL("redis://127.0.0.1:1")
        settings.key = Secret("key")
        let sharing = try #require(try Sharing(settings))
        let (now, later) = (Self.now, Self.now + .seconds(10))
        #expect(!sharing.floor.excludes(now, at: now))
        sharing.floor.raise(to: now + .seconds(86_400))
        #expect(sharing.floor.excludes(now + .seconds(3_600), at: now))
        #expect(sharing.floor.excludes(now + .seconds(-1), at: later))
        #expect(!sharing.floor.excludes(later, at: later))
        sharing.floor.raise(to: later)
        #expect(sharing.floor.excludes(now, at: later))
    }

    @Test(arguments: [
        ("http://localhost/", true), ("http://a.localhost:8080/", true), ("http://127.0.0.1/", true),
        ("http://127.1.2.3/", true), ("http://[::1]/", true), ("http://0.0.0.0/", true),
        ("http://169.254.169.254/", true), ("http://[fe80::1]/", true), ("http://10.0.0.1/", false),
        ("http://example.com/", false), ("https://[2001:db8::1]/", false),
    ])
    func `a URL that means another place on each machine is nobody else's`(_ url: String, _ isOwn: Bool) throws {
        #expect(SharingRules.isOwn(try TargetURI(url)) == isOwn)
    }

    @Test(arguments: [
        ("http://a.test/a?access_token=x", true), ("http://a.test/a?b=1&Api-Key=x", true),
        ("http://a.test/a?%74oken=x", true), ("http://a.test/a?X-Amz-Signature=0", true),
        ("http://a.test/a?sig=", true),
        ("http://a.test/token/a?b=token", false), ("http://a.test/a?page=2", false), ("http://a.test/a", false),
    ])
    func `a URL with a credential leads to nothing that is shared`(_ url: String, _ hasSecret: Bool) throws {
        #expect(SharingRules.hasSecret(try TargetURI(url)) == hasSecret)
    }

    /// A head with any fields at all, as only who has the team's key can make it.
    private func candidate(
        _ fields: Fields, status: UInt16 = 200, method: String = "GET", role: CachePolicy.Role = .shared
    ) throws -> SharedCandidate? {
        var head = OctetWriter()
        head.append(UInt8(2))
        head.append(UInt8(2))
        head.append(run: method)
        head.append(optional: nil)
        head.append(count: 0)
        head.append(status)
        head.append(fields)
        let entity = SharedEntity(
            variant: [], head: head.octets, requestTime: Self.now, responseTime: Self.now, groups: [],
            origin: "http://a.test", content: .inline(Array("hello".utf8)))
        var policy = CachePolicy()
        policy.role = role
        return SharingRules.candidate(
            entity, at: try TargetURI("http://a.test/a"), isOwn: role == .private, policy: policy)
    }

    @Test func `a head that no daemon writes is used without what belongs to a connection, or not at all`() throws {
        let fresh: Fields = ["Cache-Control": "max-age=60"]
        #expect(try candidate(fresh) != nil)
        #expect(try candidate(fresh, method: "POST") == nil)
        #expect(try candidate(fresh, status: 204) == nil)
        #expect(try candidate(fresh, status: 205) == nil)
        func with(_ name: FieldName, _ values: String...) -> Fields {
            var fields = fresh
            for value in values { fields.append(name, value) }
            return fields
        }
        #expect(try candidate(with(.contentLength, "5")) != nil)
        for length in ["99", "4", "-5", "5, 5", "x", ""] { #expect(try candidate(with(.contentLength, length)) == nil) }
        #expect(try candidate(with(.contentLength, "5", "5")) == nil)
        #expect(try candidate(fresh, role: .private) != nil)
        #expect(try candidate(with(.setCookie, "a=b"), role: .private) == nil)
        for (name, value) in [
            (.transferEncoding, "chunked"), (.connection, "close, X-Hop"), (.trailer, "X"),
            (.keepAlive, "1"), (.upgrade, "h2c"), (.proxyAuthenticate, "Basic"), (.setCookie, "a=b"),
        ] as [(FieldName, String)] {
            let used = try #require(try candidate(with(name, value)))
            #expect(!used.stored.fields.contains(name))
        }
    }

    @Test(
        arguments: [
            (["Accept": "*/*"], true), (["Authorization": "Basic x"], false), (["Cookie": "a=b"], false),
        ] as [(Fields, Bool)])
    func `a request that anybody could have sent may wait for others`(_ fields: Fields, _ mayWait: Bool) {
        let head = RequestHead(method: .get, target: "/a", fields: fields)
        #expect(SharingRules.mayWait(head, policy: CachePolicy()) == mayWait)
        #expect(!SharingRules.mayWait(RequestHead(method: .post, target: "/a", fields: fields), policy: CachePolicy()))
    }

    private func isGiven(
        _ fields: Fields, request: Fields = [:], length: Int64 = 5, policy: CachePolicy = CachePolicy()
    ) -> Bool {
        let head = RequestHead(method: .get, target: "/a", fields: request)
        let stored = StoredResponse(
            ResponseHead(status: 200, fields: fields), to: head, requestTime: Self.now, responseTime: Self.now,
            contentLength: 5, policy: policy)
        return rules.mayGive(stored, to: head, length: length)
    }

    @Test func `a response for everybody is given, and no other`() {
        #expect(isGiven(["Cache-Control": "max-age=60"]))
        #expect(!isGiven(["Cache-Control": "max-age=60"], length: 101))
        #expect(!isGiven(["Cache-Control": "private, max-age=60"]))
        #expect(!isGiven(["Cache-Control": "no-store, max-age=60"]))
        #expect(isGiven(["Cache-Control": "no-store, must-understand, max-age=60"]))
        let stale = stored(["Cache-Control": "max-age=60"]).marked(.stale, policy: CachePolicy())
        #expect(!rules.mayGive(stale, to: nil, length: 5))
        #expect(rules.mayGive(stored(["Content-Range": "bytes 0-4/9"], status: 206), to: nil, length: 5))
    }

    @Test(arguments: ["public", "s-maxage=60", "must-revalidate, max-age=60"])
    func `the answer to Authorization is given where it is for all caches, and only first-hand`(_ directives: String) {
        #expect(isGiven(["Cache-Control": directives], request: ["Authorization": "x"]))
        #expect(!isGiven(["Cache-Control": "max-age=60"], request: ["Authorization": "x"]))
        #expect(!isGiven(["Cache-Control": "\(directives), private"], request: ["Authorization": "x"]))
        let stored = stored(["Cache-Control": directives], request: ["Authorization": "x"])
        #expect(!rules.mayGive(stored, to: nil, length: 5))
    }

    @Test(
        arguments: [
            ["Cookie": "a=b"], ["X-Api-Key": "x"], ["Private-Token": "x"], ["Proxy-Authorization": "Basic x"],
            ["Authorization": "x", "Cookie": "a=b"], ["Authorization": "x", "X-Api-Key": "y"],
        ] as [Fields])
    func `the answer to any other credential is not given, whatever it says`(_ credentials: Fields) {
        for directives in ["public, max-age=60", "s-maxage=60", "max-age=60, must-revalidate"] {
            #expect(!isGiven(["Cache-Control": directives], request: credentials))
        }
    }

    @Test func `the answer to credentials of the configuration is not given`() {
        var policy = CachePolicy()
        policy.addsCredentials = true
        #expect(!isGiven(["Cache-Control": "public, max-age=60"], policy: policy))
        policy.ignoredResponse = IgnoredResponse(isForEveryone: true)
        #expect(isGiven(["Cache-Control": "max-age=60"], policy: policy))
    }

    @Test func `a credential that selects a response stays here`() {
        let fields: Fields = ["Cache-Control": "public, max-age=60", "Vary": "Authorization"]
        #expect(!isGiven(fields, request: ["Authorization": "x"]))
        #expect(isGiven(fields))
        // Known by its words alone.
        let coded: Fields = ["Cache-Control": "public, max-age=60", "Vary": "X-Access-Code"]
        #expect(!isGiven(coded, request: ["X-Access-Code": "12345"]))
        #expect(isGiven(coded))
        #expect(isGiven(["Cache-Control": "public, max-age=60", "Vary": "Accept"], request: ["Accept": "a/b"]))
    }

    @Test func `an entity is a response again, if this daemon would have stored it`() throws {
        let response = stored(["Cache-Control": "max-age=60", "Vary": "Accept"], request: ["Accept": "text/plain"])
        func entity(variant: [UInt8], isPart: Bool = false) -> SharedEntity {
            SharedEntity(
                variant: variant, head: StoredResponseCoding.encode(response),
                requestTime: response.requestTime, responseTime: response.responseTime, groups: [],
                origin: "http://a.test", isPart: isPart, content: .inline(Array("hello".utf8)))
        }
        let right = entity(variant: StoredResponseCoding.variantKey(response.variance))
        let uri = try TargetURI("http://a.test/a")
        func found(_ entity: SharedEntity, _ policy: CachePolicy = CachePolicy()) -> StoredResponse? {
            SharingRules.candidate(entity, at: uri, policy: policy)?.stored
        }
        #expect(found(right)?.fields[.vary] == "Accept")
        #expect(found(right)?.facts.freshUntil == response.facts.freshUntil)
        #expect(found(entity(variant: [])) == nil)
        #expect(found(entity(variant: right.variant, isPart: true)) == nil)
        var head = right.head
        head.removeLast()
        let cut = SharedEntity(
            variant: right.variant, head: head, requestTime: right.requestTime, responseTime: right.responseTime,
            groups: [], origin: right.origin, content: right.content)
        #expect(found(cut) == nil)
    }

    @Test func `an entity whose request had credentials is used where it is for all caches, and else not`() throws {
        let uri = try TargetURI("http://a.test/a")
        func isUsed(_ fields: Fields, to request: Fields) -> Bool {
            let response = stored(fields, request: request)
            let entity = SharedEntity(
                variant: StoredResponseCoding.variantKey(response.variance),
                head: StoredResponseCoding.encode(response), requestTime: response.requestTime,
                responseTime: response.responseTime, groups: [], origin: uri.origin,
                content: .inline(Array("hello".utf8)))
            return SharingRules.candidate(entity, at: uri, policy: CachePolicy()) != nil
        }
        #expect(isUsed(["Cache-Control": "public, max-age=60"], to: ["Authorization": "x"]))
        #expect(!isUsed(["Cache-Control": "max-age=60"], to: ["Authorization": "x"]))
        #expect(!isUsed(["Cache-Control": "public, max-age=60"], to: ["Cookie": "a=b"]))
        #expect(isUsed(["Cache-Control": "max-age=60"], to: [:]))
    }
}

@Suite("Where the engine is")
struct EngineURLTests {
    @Test(arguments: [
        ("redis://cache", "redis://cache:6379"), ("redis://cache:7000/", "redis://cache:7000"),
        ("rediss://10.0.0.1:6380", "rediss://10.0.0.1:6380"), ("valkey://[::1]:6379", "redis://[::1]:6379"),
        ("redis+cluster://a:1,b:2,c", "redis+cluster://a:1,b:2,c:6379"),
        ("rediss+cluster://a", "rediss+cluster://a:6379"), ("unix:/run/valkey.sock", "unix:/run/valkey.sock"),
        ("unix:///run/valkey.sock", "unix:/run/valkey.sock"),
    ])
    func `it is named by a URL`(_ text: String, _ shown: String) throws {
        #expect(try #require(EngineURL(text)).description == shown)
    }

    @Test(arguments: [
        "", "cache", "http://cache", "redis://", "redis://a,b", "redis://user:pass@cache", "redis://cache/1",
        "redis://cache:0x1", "redis+cluster://a,,b", "unix:relative", "redis://a b",
    ])
    func `other texts are refused`(_ text: String) {
        #expect(EngineURL(text) == nil)
    }
}

@Suite("Where the log was obeyed up to")
struct PositionFileTests {
    @Test func `it is read as it was written`() {
        let directory = FreshDirectory()
        let file = PositionFile(directory: directory.path)
        #expect(file.read() == nil)
        var senders = KnownSenders()
        for sender in 0..<5000 {
            let octets = Array(repeating: UInt8(0), count: 14) + [UInt8(sender >> 8), UInt8(sender & 255)]
            _ = senders.admit(.max - Int64(sender), of: octets)
        }
        for place in [
            PositionFile.Place(log: LogPlace("1700000000000-0"), floor: .min),
            PositionFile.Place(log: LogPlace("2-7", senders), floor: 5),
        ] {
            file.write(place)
            #expect(file.read() == place)
        }
        #expect(directory.files == [PositionFile.name])
    }

    @Test(arguments: [
        "", "1 2-7 5\n", "2 2-7 5 0", "2 2-7 5\n", "2 2-7\n", "2 2-7 x 0\n", "2 2-7 5 6 0\n", "2  5\n6\n",
        "2 2-7 5 1\n",
        "2 2-7 5 0\n1 2 3\n", "2 2-7 5 1\n1 2\n", "2 2-7 5 1\n1 -2 3\n", "2 2-7 5 1\nx 2 3\n", "2 2-7 5 1\n1 2 3\n\n",
    ])
    func `a damaged file is none`(_ text: String) {
        #expect(PositionFile.parse(text) == nil)
    }
}
