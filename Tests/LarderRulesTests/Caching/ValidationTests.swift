// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

private let monday = "Mon, 03 Sep 2001 00:00:00 GMT"
private let tuesday = "Tue, 04 Sep 2001 00:00:00 GMT"
private let now = epoch.httpDate

@Suite("RFC 9111 §4.3.1 Validation requests")
struct ValidationRequestTests {
    typealias Case = Row<(stored: [String], request: [String]), [String]>

    static let cases: [Case] = [
        Case("a tag", (["ETag: \"a\""], []), ["If-None-Match: \"a\""]),
        Case("a weak tag", (["ETag: W/\"a\""], []), ["If-None-Match: W/\"a\""]),
        Case("a tag without quotes stays without", (["ETag: abc"], []), ["If-None-Match: abc"]),
        Case(
            "a date, as it came", (["Last-Modified: Tuesday, 04-Sep-01 00:00:00 GMT"], []),
            ["If-Modified-Since: Tuesday, 04-Sep-01 00:00:00 GMT"]),
        Case(
            "both", (["ETag: \"a\"", "Last-Modified: \(monday)"], []),
            ["If-None-Match: \"a\"", "If-Modified-Since: \(monday)"]),
        Case(
            "the client's conditions make room",
            (["ETag: \"a\""], ["X: 1", "If-None-Match: \"b\"", "If-Modified-Since: \(tuesday)", "If-Range: \"b\""]),
            ["X: 1", "If-None-Match: \"a\""]),
        Case(
            "for a part the tag is enough", (["ETag: \"a\"", "Last-Modified: \(monday)"], ["Range: bytes=0-4"]),
            ["Range: bytes=0-4", "If-None-Match: \"a\""]),
        Case(
            "for a part the date must do", (["Last-Modified: \(monday)"], ["Range: bytes=0-4"]),
            ["Range: bytes=0-4", "If-Modified-Since: \(monday)"]),
        Case(
            "two tags are none", (["ETag: \"a\"", "ETag: \"b\"", "Last-Modified: \(monday)"], []),
            ["If-Modified-Since: \(monday)"]),
        Case("a broken date is none", (["Last-Modified: yesterday"], []), []),
    ]

    @Test(arguments: cases)
    func `stored validators become conditions`(_ row: Case) {
        var request = Fields(lines: row.input.request)
        Validation.makeConditional(&request, for: .stored(ResponseHead(fields: Fields(lines: row.input.stored))))
        #expect(request == Fields(lines: row.output))
    }
}

@Suite("RFC 9111 §4.3.4 Matching a 304")
struct ValidationMatchTests {
    /// Stored responses, oldest first, each with its fields and the value of `Foo` it was selected by.
    struct Input: Sendable {
        var stored: [[String]]
        var response: [String]
        var validated = 0
    }

    typealias Case = Row<Input, ValidationMatch>

    static let cases: [Case] = [
        Case(
            "the strong tag", Input(stored: [["ETag: \"a\""]], response: ["ETag: \"a\""]), .update([0], by: .strongTag)),
        Case(
            "all with the strong tag",
            Input(stored: [["ETag: \"a\""], ["ETag: \"b\""], ["ETag: \"a\""]], response: ["ETag: \"a\""]),
            .update([0, 2], by: .strongTag)),
        Case(
            "a strong tag nobody has", Input(stored: [["ETag: \"a\""]], response: ["ETag: \"b\""]),
            .none(.unknownRepresentation)),
        Case(
            "a strong tag is not a weak one", Input(stored: [["ETag: W/\"a\""]], response: ["ETag: \"a\""]),
            .none(.unknownRepresentation)),
        Case(
            "a weak tag means the newest",
            Input(stored: [["ETag: \"a\""], ["ETag: W/\"a\""]], response: ["ETag: W/\"a\""]), .update([1], by: .weakTag)
        ),
        Case(
            "a weak tag nobody has", Input(stored: [["ETag: W/\"a\""]], response: ["ETag: W/\"b\""]),
            .none(.unknownRepresentation)),
        Case(
            "tags without quotes", Input(stored: [["ETag: abc"]], response: ["ETag: abc"]), .update([0], by: .strongTag)
        ),
        Case(
            "the tag before the date",
            Input(
                stored: [["ETag: \"a\"", "Last-Modified: \(monday)"]],
                response: ["ETag: \"b\"", "Last-Modified: \(monday)"]), .none(.unknownRepresentation)),
        Case(
            "a strong date",
            Input(
                stored: [["Last-Modified: \(monday)"], ["Last-Modified: \(monday)"]],
                response: ["Last-Modified: \(monday)", "Date: \(now)"]),
            .update([0, 1], by: .lastModified)),
        Case(
            "a weak date means the newest",
            Input(
                stored: [["Last-Modified: \(monday)"], ["Last-Modified: \(monday)"]],
                response: ["Last-Modified: \(monday)", "Date: \(monday)"]),
            .update([1], by: .lastModified)),
        Case(
            "a date nobody has", Input(stored: [["Last-Modified: \(monday)"]], response: ["Last-Modified: \(tuesday)"]),
            .none(.unknownRepresentation)),
        Case(
            "nothing means what was asked about",
            Input(stored: [["ETag: \"a\""], ["ETag: \"b\""]], response: [], validated: 0),
            .update([0], by: .onlyCandidate)),
    ]

    @Test(arguments: cases)
    func `a 304 names what it speaks of`(_ row: Case) {
        let stored = row.input.stored.enumerated().map { index, lines in
            StoredResponse.stored(ResponseHead(fields: Fields(lines: lines)), at: Double(index) - 10)
        }
        let match = Validation.match(
            Fields(lines: row.input.response), request: Fields(), candidates: stored, validated: row.input.validated)
        #expect(match == row.output)
    }

    @Test func `variants that the request does not select are left alone`() {
        func variant(_ value: String) -> StoredResponse {
            .stored(.ok("ETag: \"a\"", "Vary: Foo"), to: .get("Foo: " + value))
        }
        let match = Validation.match(
            Fields(lines: ["ETag: \"a\""]), request: Fields(lines: ["Foo: 1"]),
            candidates: [variant("1"), variant("2")], validated: 0)
        #expect(match == .update([0], by: .strongTag))
    }
}

@Suite("RFC 9111 §3.2, §4.3.4 Freshening")
struct FresheningTests {
    typealias Case = Row<(stored: [String], response: [String]), [String]>

    static let cases: [Case] = [
        Case("fields it omits stay", (["X-A: 1", "ETag: \"a\""], ["ETag: \"a\""]), ["X-A: 1", "ETag: \"a\""]),
        Case("fields it has replace", (["X-A: 1", "X-A: 2", "X-B: 3"], ["x-a: 4"]), ["X-B: 3", "x-a: 4"]),
        Case("fields it adds are added", ([], ["X-A: 1", "X-A: 2"]), ["X-A: 1", "X-A: 2"]),
        Case("the length stays", (["Content-Length: 10"], ["Content-Length: 0"]), ["Content-Length: 10"]),
        Case(
            "what says how to read the content stays",
            (["Content-Type: a/b"], ["Content-Type: c/d", "Content-Encoding: gzip", "Content-Range: bytes 0-1/2"]),
            ["Content-Type: a/b"]),
        Case(
            "other fields named Content- do not",
            (["Content-Location: a", "Content-Foo: a"], ["Content-Location: b", "Content-Foo: b"]),
            ["Content-Location: b", "Content-Foo: b"]),
        Case("an old age does not survive", (["Age: 30", "Date: \(monday)"], []), []),
        Case(
            "a new one counts", (["Age: 30", "Date: \(monday)"], ["Age: 3", "Date: \(now)"]),
            ["Age: 3", "Date: \(now)"]),
        Case(
            "what belongs to the connection is not taken",
            (["X-A: 1"], ["Connection: X-A", "X-A: 2", "Keep-Alive: x", "Transfer-Encoding: chunked"]), ["X-A: 1"]),
    ]

    @Test(arguments: cases)
    func `fields of a newer response replace stored ones`(_ row: Case) {
        #expect(
            Freshening.merged(Fields(lines: row.input.stored), with: Fields(lines: row.input.response))
                == Fields(lines: row.output))
    }

    private func freshened(
        _ stored: StoredResponse, _ lines: String..., to request: RequestHead = .get(),
        policy: CachePolicy = CachePolicy()
    ) -> FresheningDecision {
        Freshening.freshen(
            stored, with: ResponseHead(status: 304, fields: Fields(lines: lines)), to: request, requestTime: .at(100),
            responseTime: .at(100), policy: policy)
    }

    @Test func `lifetime and age begin anew`() {
        let stored = StoredResponse.stored(
            .ok("Cache-Control: max-age=60", "Age: 50", "Date: \(now)", "ETag: \"a\""), length: 12)
        guard case .updated(let updated) = freshened(stored, "Cache-Control: max-age=5") else {
            Issue.record("not updated")
            return
        }
        #expect(updated.facts.lifetime == .init(.seconds(5), .maxAge))
        #expect(Age.currentAge(of: updated, at: .at(101)) == .seconds(1))
        #expect(updated.facts.eTag == EntityTag("\"a\""))
        #expect(updated.contentLength == 12)
    }

    typealias DiscardCase = Row<[String], StorageCondition>

    @Test(arguments: [
        DiscardCase("no-store", ["Cache-Control: no-store"], .noStore),
        DiscardCase("private", ["Cache-Control: private"], .notPrivate),
        DiscardCase("Vary: *", ["Vary: *"], .vary),
    ])
    func `what the origin says now may forbid keeping it`(_ row: DiscardCase) {
        let decision = Freshening.freshen(
            .stored(.ok(cacheControl: "max-age=60")), with: ResponseHead(status: 304, fields: Fields(lines: row.input)),
            to: .get(), requestTime: epoch, responseTime: epoch, policy: CachePolicy())
        guard case .discard(_, let condition) = decision else {
            Issue.record("kept")
            return
        }
        #expect(condition == row.output)
    }

    @Test func `permission to share can be withdrawn`() {
        let stored = StoredResponse.stored(.ok(cacheControl: "public, max-age=60"), to: .get("Authorization: x"))
        guard case .discard(_, .authorization) = freshened(stored, "Cache-Control: max-age=60") else {
            Issue.record("kept")
            return
        }
    }

    @Test func `a response for all stays for all when one user validates it`() {
        let stored = StoredResponse.stored(.ok(cacheControl: "max-age=60"), to: .get())
        let decision = Freshening.freshen(
            stored, with: ResponseHead(status: 304, fields: ["X": "1"]), to: .get("Authorization: x"),
            requestTime: epoch, responseTime: epoch, policy: CachePolicy())
        guard case .unstored(let answer) = decision else {
            Issue.record("\(decision)")
            return
        }
        #expect(answer.fields["X"] == "1")
    }

    @Test func `a Vary that changes takes its values from the request`() {
        let stored = StoredResponse.stored(.ok("Vary: Foo"), to: .get("Foo: 1", "Bar: 2"))
        guard case .updated(let updated) = freshened(stored, "Vary: Bar", to: .get("Foo: 1", "Bar: 3")) else {
            Issue.record("not updated")
            return
        }
        #expect(updated.variance.matches(Fields(lines: ["Bar: 3"])))
        #expect(!updated.variance.matches(Fields(lines: ["Bar: 2"])))
    }

    @Test func `cookies of a 304 do not reach others`() {
        guard case .updated(let updated) = freshened(.stored(.ok()), "Set-Cookie: a=b") else {
            Issue.record("not updated")
            return
        }
        #expect(!updated.fields.contains(.setCookie))
    }
}

@Suite("Bounds of freshening")
struct FresheningBoundsTests {
    @Test func `a head does not grow with each 304`() {
        var stored = StoredResponse.stored(.ok("Cache-Control: max-age=2", "ETag: \"a\"", "X-Own: 1"))
        for number in 0..<3 {
            let lines = (0..<150).map { "X-\(number)-\($0): \(String(repeating: "x", count: 10))" }
            let decision = Freshening.freshen(
                stored, with: ResponseHead(status: 304, fields: Fields(lines: ["ETag: \"a\""] + lines)), to: .get(),
                requestTime: .at(5), responseTime: .at(5), policy: CachePolicy())
            switch (number, decision) {
            case (0, .updated(let updated)): stored = updated
            case (0, _): Issue.record("the first is not too long")
            case (_, .untouched(.size)): break
            default: Issue.record("\(number) made it longer than a head may be")
            }
        }
        #expect(stored.fields.contains("X-Own"))
    }
}

@Suite("RFC 9111 §4.3.5 Freshening by HEAD")
struct HeadFresheningTests {
    enum Effect: Sendable, Equatable {
        case updated(lifetime: Duration)
        case stale(FresheningDecision.StaleReason)
        case untouched
        case discarded
    }

    typealias Case = Row<(status: Status, lines: [String]), Effect>

    static let cases: [Case] = [
        Case("no validator", (200, ["Cache-Control: max-age=1000"]), .updated(lifetime: .seconds(1000))),
        Case(
            "all the same", (200, ["ETag: \"a\"", "Last-Modified: \(monday)", "Content-Length: 10"]),
            .updated(lifetime: .seconds(2))),
        Case("another tag", (200, ["ETag: \"b\""]), .stale(.eTag)),
        Case("another date", (200, ["Last-Modified: \(tuesday)"]), .stale(.lastModified)),
        Case("another length", (200, ["Content-Length: 11"]), .stale(.contentLength)),
        Case("another status", (410, ["Cache-Control: max-age=1000"]), .untouched),
        Case("no-store", (200, ["Cache-Control: no-store"]), .discarded),
    ]

    @Test(arguments: cases)
    func `a response to HEAD updates, or shows a difference`(_ row: Case) {
        let stored = StoredResponse.stored(.ok("Cache-Control: max-age=2", "ETag: \"a\"", "Last-Modified: \(monday)"))
        let decision = Freshening.freshenByHead(
            stored, with: ResponseHead(status: row.input.status, fields: Fields(lines: row.input.lines)), to: .head(),
            requestTime: .at(5), responseTime: .at(5), policy: CachePolicy())
        let effect: Effect =
            switch decision {
            case .updated(let updated), .confirmed(let updated, _, _):
                .updated(lifetime: updated.facts.lifetime.duration)
            case .stale(let marked, let reason): Freshness.isFresh(marked, at: epoch) ? .untouched : .stale(reason)
            case .untouched, .unstored: .untouched
            case .discard: .discarded
            }
        #expect(effect == row.output)
    }
}

@Suite("RFC 9111 §4.4, RFC 9875 Invalidation")
struct InvalidationTests {
    typealias Case = Row<(method: Method, status: Status, lines: [String]), InvalidationDecision>

    private static func uris(_ paths: String..., groups: [String] = []) -> InvalidationDecision {
        .invalidate(uris: ([target] + paths.map { try! TargetURI("http://origin.example" + $0) }), groups: groups)
    }

    static let cases: [Case] = [
        Case("POST", (.post, 200, []), uris()),
        Case("PUT", (.put, 204, []), uris()),
        Case("DELETE, redirected", (.delete, 303, []), uris()),
        Case("PATCH", (.patch, 200, []), uris()),
        Case("an unknown method", (Method("M-SEARCH")!, 200, []), uris()),
        Case("a failure", (.post, 500, ["Location: /b"]), .none(.failed)),
        Case("a refusal", (.post, 403, []), .none(.failed)),
        Case("GET", (.get, 200, ["Location: /b", "Cache-Group-Invalidation: \"x\""]), .none(.safeMethod)),
        Case("QUERY", (.query, 200, []), .none(.safeMethod)),
        Case(
            "both locations", (.put, 201, ["Location: /b", "Content-Location: http://ORIGIN.example:80/c"]),
            uris("/b", "/c")),
        Case("relative", (.put, 201, ["Location: b/../c?d#e"]), uris("/c?d")),
        Case("UTF-8 that is not escaped", (.put, 201, ["Location: /\u{C3}\u{BC}"]), uris("/%C3%BC")),
        Case("a query alone", (.put, 201, ["Location: ?d"]), uris("/a?d")),
        Case("the target itself", (.put, 201, ["Location: a"]), uris()),
        Case("an authority alone", (.put, 201, ["Location: //origin.example/z"]), uris("/z")),
        Case("another host", (.put, 201, ["Location: http://other.example/b"]), uris()),
        Case("another port", (.put, 201, ["Location: http://origin.example:81/b"]), uris()),
        Case("another scheme", (.put, 201, ["Location: https://origin.example/b"]), uris()),
        Case("no URI", (.put, 201, ["Location: http://[", "Content-Location: mailto:a"]), uris()),
        Case("groups", (.post, 200, ["Cache-Group-Invalidation: \"a\", \"b\";x=1, \"a\""]), uris(groups: ["a", "b"])),
        Case("groups that are no list", (.post, 200, ["Cache-Group-Invalidation: \"a"]), uris()),
    ]

    @Test(arguments: cases)
    func `a response to a write invalidates`(_ row: Case) {
        let decision = Invalidation.decide(
            method: row.input.method, target: target, status: row.input.status, response: Fields(lines: row.input.lines)
        )
        #expect(decision == row.output)
    }

    @Test func `a stored response belongs to the groups it names`() {
        #expect(
            Invalidation.groups(of: Fields(lines: ["Cache-Groups: \"a b\", \"c\"", "Cache-Groups: \"d\", token"])) == [
                "a b", "c", "d",
            ])
        let many = (0..<300).map { "\"g\($0)\"" }.joined(separator: ", ")
        #expect(Invalidation.groups(of: Fields(lines: ["Cache-Groups: " + many])).count == Invalidation.groupLimit)
    }
}
