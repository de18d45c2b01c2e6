// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@Suite("Credentials in requests")
struct CredentialsTests {
    @Test(arguments: [
        "Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "x-apikey", "Api-Key", "X-Auth-Token",
        "X-AuthToken",
        "PRIVATE-TOKEN", "X-Amz-Security-Token", "X-Access-Token", "Ocp-Apim-Subscription-Key", "X-Goog-Api-Key",
        "X-CSRF-Token", "X-Session-Id", "X-Session", "X-User-Id", "X-Remote-User", "X_API_KEY", "X-Vault-Token",
        "X-JWT",
        "Cookie2", "X-Tenant-Id", "X-Amzn-Oidc-Identity", "DD-API-KEY", "X-Shopify-Access-Token",
        "Client-Cert", "X-Forwarded-Client-Cert", "X-SSL-Client-S-Dn", "X-Amzn-Oidc-Data", "X-Forwarded-Email",
        "X-Pomerium-Claim-Email", "X-Login", "X-Pass", "X-Ticket", "npm-otp", "X-Uid", "DPoP",
    ])
    func `fields that say who asks are found by their names`(name: String) {
        guard let name = FieldName(name) else { return }
        #expect(Credentials.isOne(name))
        #expect(Credentials.areIn(Fields(lines: ["Host: a", "\(name): 1"])))
        #expect(Credentials.all(in: Fields(lines: ["\(name): 1", "Accept: a", "\(name): 2"])) == [name])
    }

    @Test(arguments: [
        "Accept", "User-Agent", "X-User-Agent", "Sec-Fetch-User", "Sec-WebSocket-Key", "Sec-CH-UA", "X-Requested-With",
        "If-None-Match", "Idempotency-Key", "X-Cache-Key", "traceparent", "X-Request-Id", "DNT",
        "Upgrade-Insecure-Requests",
        "Priority", "Range", "Keyboard", "X-Monkey", "Authority", "X-Amz-Date", "Accept-Language",
        "npm-session", "npm-auth-type", "X-CDN", "X-Bypass", "Shipping", "X-Mapping", "Fluid",
    ])
    func `others are not taken for them`(name: String) {
        guard let name = FieldName(name) else { return }
        #expect(!Credentials.isOne(name))
        #expect(!Credentials.areIn(Fields(lines: ["Host: a", "\(name): 1"])))
    }
}

@Suite("Who asks")
struct IdentityTests {
    private func octets(
        _ parts: [Identity.Part]?, _ lines: String..., client: String? = nil, user: String? = nil
    ) -> [UInt8] {
        Identity(parts).octets(of: Fields(lines: lines), client: client, user: user)
    }

    @Test func `unless something is named, it is all credentials`() {
        #expect(octets(nil) == [])
        #expect(octets(nil, "Accept: a", "User-Agent: b") == [])
        let lines = ["Authorization: a", "Cookie: a", "X-Api-Key: a", "Cookie: b"]
        let all = lines.map { octets(nil, $0) } + [octets(nil, "Authorization: a", "Cookie: a")]
        #expect(Set(all).count == all.count && !all.contains([]))
        #expect(octets(nil, "X-Api-Key: a", "Cookie: b") == octets(nil, "Cookie: b", "Accept: x", "x-api-key: a"))
    }

    @Test func `what is named counts alone`() {
        let parts: [Identity.Part] = [.cookie("sid"), .field("X-Team")]
        let first = octets(parts, "Authorization: a", "Cookie: x=1; sid=7")
        #expect(first == octets(parts, "Authorization: b", "Cookie: sid=7; x=2"))
        #expect(first != octets(parts, "Cookie: sid=8"))
        #expect(first != octets(parts, "Cookie: sid=7", "X-Team: 1"))
        for stranger in ["Cookie: xsid=7", "Cookie: sid", "Cookie: SID=7", "X-Team:", "Authorization: a"] {
            #expect(octets(parts, stranger) == [], "\(stranger)")
        }
        #expect(octets([.client], client: "10.0.0.1") != octets([.client], client: "10.0.0.2"))
        #expect(octets([.client], "Cookie: a=1") == [])
    }

    @Test func `a proven user counts, and only where that is said`() {
        #expect(octets([.user], user: "anna") != octets([.user], user: "ben"))
        #expect(octets([.user], "X-Any: a", client: "1", user: "anna") == octets([.user], client: "2", user: "anna"))
        #expect(octets([.user]) == [] && octets([.client], user: "anna") == [] && octets(nil, user: "anna") == [])
        #expect(Identity([.user]).unnamedCredential(in: Fields(lines: ["Authorization: a"])) == .authorization)
    }

    @Test func `one cannot pass for another`() {
        let parts: [Identity.Part] = [.cookie("a"), .cookie("b")]
        #expect(octets(parts, "Cookie: a=1; b=2") != octets(parts, "Cookie: a=11:b1:2"))
        #expect(octets([.field("A"), .field("B")], "A: 1") != octets([.field("A"), .field("B")], "B: 1"))
        #expect(octets([.client, .field("A")], client: "1") != octets([.client, .field("A")], "A: 1"))
        #expect(octets([.user, .client], client: "1") != octets([.user, .client], user: "1"))
    }

    @Test func `credentials that are no part of it are noticed, unless the origin does not see them`() {
        let identity = Identity([.field(.authorization), .cookie("sid")], replaced: ["X-Api-Key"])
        func unnamed(_ lines: String...) -> FieldName? { identity.unnamedCredential(in: Fields(lines: lines)) }
        #expect(unnamed("Authorization: a", "Cookie: sid=1; b=2", "X-Api-Key: 1", "Accept: b") == nil)
        #expect(unnamed("Cookie: b=2") == .cookie)
        #expect(unnamed("Authorization: a", "X-Auth-Token: 1") == "X-Auth-Token")
        #expect(Identity([.client]).unnamedCredential(in: Fields(lines: ["Authorization: a"])) == .authorization)
        #expect(Identity().unnamedCredential(in: Fields(lines: ["Authorization: a", "Cookie: b"])) == nil)
    }

    @Test func `such a request's response is kept by the rules of a shared cache`() {
        var policy = CachePolicy()
        policy.role = .private
        policy.identity = Identity([.field(.authorization)])
        let known = Fields(lines: ["Authorization: a"])
        let unknown = Fields(lines: ["Authorization: a", "Cookie: b"])
        #expect(policy.narrowed(for: known) == policy)
        #expect(policy.narrowed(for: unknown).role == .shared)
        #expect(policy.narrowed(for: unknown).storesAuthorized)
        policy.identity = Identity([.field("X-Api-Key")])
        #expect(policy.narrowed(for: known).role == .shared && !policy.narrowed(for: known).storesAuthorized)
    }

    @Test(arguments: [
        ("private", false), ("max-age=60", false), ("public", true), ("max-age=60, public", true),
        ("s-maxage=60", true),
        ("max-age=60, must-revalidate", true), ("public, private", false),
    ]) func `what others may have in spite of them, the origin says`(directives: String, isStored: Bool) throws {
        var policy = CachePolicy()
        policy.role = .private
        policy.identity = Identity([.field(.authorization)])
        let request = RequestHead.get("Authorization: a", "Cookie: b")
        let target = try TargetURI("http://a/")
        let decision = Storability.decide(
            request: request, target: target, response: .ok(cacheControl: directives),
            policy: policy.narrowed(for: request.fields), responseTime: .at(0))
        if case .store = decision { #expect(isStored) } else { #expect(!isStored) }
        // The same user without the cookie.
        let own = Storability.decide(
            request: .get("Authorization: a"), target: target, response: .ok(cacheControl: directives), policy: policy,
            responseTime: .at(0))
        if case .doNotStore(let condition) = own { Issue.record("\(condition)") }
    }
}
