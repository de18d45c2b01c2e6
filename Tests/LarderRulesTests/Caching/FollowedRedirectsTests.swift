// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@Suite("The response to a request whose redirects were followed")
struct FollowedRedirectsTests {
    /// The fields of a 200 with `final` behind 302s with these fields.
    private func fields(
        _ hops: [String]..., final: [String], to request: RequestHead = .get(), policy: CachePolicy = CachePolicy(),
        status: Status = 200, redirect: Status = 302, validating stored: Fields? = nil
    ) throws -> Fields {
        var followed = FollowedRedirects(of: request, to: try TargetURI("http://a.example/a"), policy: policy)
        for hop in hops { followed.append(ResponseHead(status: redirect, fields: Fields(lines: hop)), at: epoch) }
        return followed.fields(
            of: ResponseHead(status: status, fields: Fields(lines: final)), validating: stored, at: epoch
        ).fields
    }

    private func control(
        _ hops: String..., final: String, age: Int = 0, to request: RequestHead = .get(),
        policy: CachePolicy = CachePolicy(), redirect: Status = 302
    ) throws -> Set<String> {
        var followed = FollowedRedirects(of: request, to: try TargetURI("http://a.example/a"), policy: policy)
        for hop in hops {
            let fields = hop.isEmpty ? Fields() : ["Cache-Control": hop]
            followed.append(ResponseHead(status: redirect, fields: fields), at: epoch)
        }
        let response = ResponseHead(status: 200, fields: ["Cache-Control": final, "Age": String(age)])
        let value = followed.fields(of: response, at: epoch).fields[.cacheControl] ?? ""
        return Set(value.split(separator: ",").map { String($0.drop { $0 == " " }) })
    }

    @Test func `without redirects nothing changes`() throws {
        #expect(try control(final: "public, max-age=600") == ["public", "max-age=600"])
    }

    @Test func `the shortest lifetime counts`() throws {
        #expect(try control("max-age=60", "max-age=30", final: "public, max-age=600") == ["public", "max-age=30"])
        #expect(try control("max-age=60", final: "max-age=600, s-maxage=900, immutable") == ["max-age=60"])
        #expect(try control("max-age=600", final: "max-age=60") == ["max-age=60"])
        // The final response's age is not the redirect's.
        #expect(try control("max-age=60", final: "max-age=600", age: 100) == ["max-age=160"])
    }

    @Test func `no directive is lost`() throws {
        #expect(
            try control("max-age=60, no-store", final: "max-age=600, must-understand")
                == ["private", "no-store", "max-age=0"])
        #expect(try control("max-age=60, no-cache", final: "max-age=60") == ["no-cache", "max-age=60"])
        #expect(try control("max-age=60, private", final: "max-age=60").isSuperset(of: ["private", "no-store"]))
        #expect(
            try control("max-age=60, must-revalidate, no-transform", final: "max-age=60")
                == ["must-revalidate", "no-transform", "max-age=60"])
        #expect(
            try control("max-age=60, no-cache", final: "max-age=60, private=\"x-a\"")
                == ["no-cache", "max-age=60", "private=\"x-a\""])
    }

    @Test func `a temporary redirect without a lifetime is not stored unless one is configured`() throws {
        #expect(try control("", final: "max-age=60") == ["private", "no-store", "max-age=0"])
        #expect(try control("", final: "max-age=60", redirect: 301) == ["max-age=60"])
        let floor = CachePolicy.with {
            $0.expirationTimes = [200: .seconds(300)]
            $0.expirationMode = .floor
        }
        #expect(try control("", final: "max-age=600", policy: floor) == ["max-age=300"])
        #expect(try control("", final: "max-age=60", policy: floor) == ["max-age=60"])
        #expect(try control("no-store", final: "max-age=60", policy: floor).contains("no-store"))
    }

    @Test func `whether all redirects may be kept is known`() throws {
        func areKept(_ hops: (Status, String)..., policy: CachePolicy = CachePolicy()) throws -> Bool {
            var followed = FollowedRedirects(of: .get(), to: try TargetURI("http://a.example/a"), policy: policy)
            for (status, control) in hops {
                let fields = control.isEmpty ? Fields() : ["Cache-Control": control]
                followed.append(ResponseHead(status: status, fields: fields), at: epoch)
            }
            return followed.fields(of: ResponseHead(status: 200), at: epoch).redirectsAreKept
        }
        #expect(try areKept())
        #expect(try areKept((302, "max-age=60"), (301, "")))
        #expect(try !areKept((302, "max-age=60"), (307, "")))
        #expect(try !areKept((301, "no-store")))
        let floor = CachePolicy.with {
            $0.expirationTimes = [200: .seconds(300)]
            $0.expirationMode = .floor
        }
        #expect(try areKept((302, ""), policy: floor))
    }

    @Test func `permission must be the redirect's too`() throws {
        let authorized = RequestHead.get("Authorization: Basic x")
        #expect(try control("max-age=60", final: "public, max-age=60", to: authorized).contains("no-store"))
        #expect(
            try control("public, max-age=60", final: "public, max-age=60", to: authorized) == ["public", "max-age=60"])
        // Nor does a redirect's permission count for a target that gave none.
        #expect(
            try control("must-revalidate, max-age=60", final: "max-age=60", to: authorized) == ["max-age=60"])
    }

    @Test func `fields of any Vary select`() throws {
        let fresh = "Cache-Control: max-age=60"
        #expect(try fields([fresh, "Vary: Cookie"], [fresh], final: [fresh])[.vary] == "Cookie")
        #expect(
            try fields([fresh, "Vary: Cookie, X-B"], [fresh, "Vary: X-A"], final: [fresh, "Vary: Accept"])[.vary]?
                .lowercased() == "accept, cookie, x-a, x-b")
        #expect(try fields([fresh, "Vary: *"], final: [fresh])[.vary] == "*")
        let long = (0..<60).map { "X-\($0)-" + String(repeating: "a", count: 100) }.joined(separator: ",")
        #expect(try fields([fresh, "Vary: \(long)"], final: [fresh])[.vary] == "*")
    }

    @Test func `a 304 says what the stored response said, as far as the redirects allow`() throws {
        let stored: Fields = ["Cache-Control": "max-age=600", "Vary": "Accept"]
        let updated = try fields(
            ["Cache-Control: max-age=60", "Vary: Cookie"], final: ["ETag: \"a\""], status: 304, validating: stored)
        #expect(updated[.cacheControl] == "max-age=60")
        #expect(updated[.vary] == "Accept, Cookie")
        let forbidden = try fields(["Cache-Control: no-store"], final: [], status: 304, validating: stored)
        #expect(forbidden[.cacheControl]?.contains("no-store") == true)
    }
}
