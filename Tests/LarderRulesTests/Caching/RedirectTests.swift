// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@Suite("Redirects and references")
struct RedirectTests {
    private func redirect(
        _ status: Status, _ location: String?, at place: String = "https://api.example/v1/users?a=1"
    ) throws -> Redirect? {
        var head = ResponseHead()
        head.status = status
        head.fields[.location] = location
        return Redirect(head, at: try TargetURI(place))
    }

    @Test(arguments: [301, 302, 303, 307, 308] as [Status])
    func `these statuses lead elsewhere`(_ status: Status) throws {
        #expect(try redirect(status, "../v2/x#part") == .to(TargetURI("https://api.example/v2/x")))
        #expect(try redirect(status, nil) == nil)
    }

    @Test(arguments: [200, 201, 300, 304, 305, 306, 404] as [Status])
    func `others do not`(_ status: Status) throws {
        #expect(try redirect(status, "/x") == nil)
    }

    @Test func `what is invalid in a URL is escaped, and what means none is said`() throws {
        #expect(try redirect(302, "/a b/é%zz%41") == .to(TargetURI("https://api.example/a%20b/%C3%A9%25zz%41")))
        // Two octets of UTF-8, as they stand in a field.
        #expect(try redirect(302, "/\u{C3}\u{A9}?\u{C3}\u{BC}") == .to(TargetURI("https://api.example/%C3%A9?%C3%BC")))
        #expect(try redirect(302, "mailto:a@b") == .unreadable("mailto:a@b"))
        #expect(try redirect(302, "http://[::1") == .unreadable("http://[::1"))
        #expect(try redirect(302, "http://other.example/") == .unencrypted(TargetURI("http://other.example/")))
        #expect(
            try redirect(302, "http://other.example/", at: "http://api.example/")
                == .to(TargetURI("http://other.example/")))
    }

    /// Those of RFC 3986 §5.4 that mean http URIs, for the base `http://a/b/c/d;p?q`.
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"),
        ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"), (";x", "http://a/b/c/;x"),
        ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y"), ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"),
        ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"), ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"), ("g?a:b", "http://a/b/c/g?a:b"),
        ("1:2", "http://a/b/c/1:2"),
    ])
    func `references are resolved`(_ reference: String, _ result: String) throws {
        #expect(try TargetURI("http://a/b/c/d;p?q").resolving(reference)?.string == result)
    }

    @Test(arguments: ["g:h", "mailto:a@b", "http:g", "http:", "//", "http://", "a b"])
    func `others mean no http URI`(_ reference: String) throws {
        #expect(try TargetURI("http://a/b/c/d;p?q").resolving(reference) == nil)
    }
}
