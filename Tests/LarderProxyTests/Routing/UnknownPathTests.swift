// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@testable import LarderProxy

@Suite("Paths of the gateway that lead nowhere")
struct UnknownPathTests {
    private func advice(_ path: String, leadsToAnyHost: Bool = true) -> String {
        Problem.unknownPath(path, services: [("gh", "/gh/"), ("shop", "/store/")], leadsToAnyHost: leadsToAnyHost)
            .advice
    }

    @Test(arguments: [
        ("/https://api.example.com/x", "/https/api.example.com/x"), ("/http://a.test:8080", "/http/a.test:8080/"),
        ("/https:/api.example.com/x", "/https/api.example.com/x"), ("/HTTPS://a.test/", "/https/a.test/"),
        ("/https/https://a.test/x", "/https/a.test/x"), ("/http/https://a.test", "/https/a.test/"),
    ])
    func `a URL behind the address is answered with how it is written`(path: String, meant: String) {
        #expect(advice(path).hasPrefix("Did you mean \(meant)?"), "\(advice(path))")
    }

    @Test(arguments: ["/gx/https://a.test/", "/https://", "/https:", "/httpx://a.test/", "/ftp://a.test/"])
    func `what is no such URL is answered as before`(path: String) {
        #expect(advice(path).hasPrefix("Call /<service>/"))
    }

    @Test(arguments: [
        ("/status", "/-/status"), ("/Metrics", "/-/metrics"), ("/shpo/x", "/store/x"), ("/shop", "/store/"),
        ("/api.example.com/x", "/https/api.example.com/x"), ("/api.example.com", "/https/api.example.com/"),
    ])
    func `a page, a service and a host are answered with how they are written`(path: String, meant: String) {
        #expect(advice(path).hasPrefix("Did you mean \(meant)?"), "\(advice(path))")
    }

    @Test(arguments: ["/robots.txt", "/status/x", "/a.b", "/1.2.3.4/x", "/x", "/..test/"])
    func `what is neither is answered as before, too`(path: String) {
        #expect(advice(path).hasPrefix("Call /<service>/"), "\(advice(path))")
    }

    @Test func `nothing is suggested that is not allowed`() {
        #expect(advice("/https://a.test/", leadsToAnyHost: false) == "Call /<service>/… at this address.")
    }

    @Test func `code in the sentences of a page is marked as code`() {
        let problem = Problem(
            status: 404, title: "No", proxyError: .httpRequestError, detail: "It`s <b>.", advice: "Set `a` or `<b>`.")
        let page = problem.content(as: .html, instance: "x")
        #expect(page.contains("Set <code>a</code> or <code>&lt;b&gt;</code>."))
        #expect(page.contains("It`s &lt;b&gt;."))
    }
}
