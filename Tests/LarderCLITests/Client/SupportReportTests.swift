// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderSettings
import Testing

@testable import LarderCLI

@Suite("The file for support")
struct SupportReportTests {
    /// A report of a daemon that has these answers.
    private func report(_ answers: [String: String]) -> SupportReport {
        SupportReport(
            made: "now", system: { .null },
            ask: { path in
                // The largest number that the page takes.
                let content = answers[path.replacing("?limit=500", with: "")]
                guard let content else { throw CommandFailure("no daemon runs") }
                return try JSONValue(parsing: Array(content.utf8))
            },
            settings: { ["cache": ["disk": "1 GiB"]] })
    }

    @Test func `it has settings, status, failures and log, without secrets, people and queries`() throws {
        let text = report([
            "/-/support": #"""
            {"version": "0.1.0", "settings": {
               "admin": {"token": "hush-1"}, "upstream": {"proxy": "http://anna:hush-2@proxy.test:3128"},
               "services": {"a": {"baseURL": "https://a.test/v1/?key=hush-3", "configure": [
                 {"headers": {"X-Own": "hush-4", "Authorization": "Bearer ${TOKEN}", "X-Number": 4711}},
                 {"onChange": {"exec": ["/bin/x", "hush-5"]}}]}}},
             "log": ["warning no answer url=https://a.test/b?code=hush-6 client=192.0.2.7",
                     "error refused Authorization: Bearer hush-7", "error password=hush-8 token=\"hush-9 hush-9\""]}
            """#,
            "/-/status": #"{"state": "serving", "tunnels": [{"host": "h.test", "client": "192.0.2.7"}]}"#,
            "/-/requests": #"""
            {"requests": [
              {"url": "https://a.test/c?hush-10", "status": 502, "problem": "no answer", "user": "anna"},
              {"url": "https://a.test/well", "status": 200, "problem": null}]}
            """#,
        ]).json.description
        for kept in [
            "serving", "h.test", "no answer", "https://a.test/c?…", "https://a.test/b?…", "Bearer ${TOKEN}",
            "http://proxy.test:3128", LarderVersion.description,
        ] {
            #expect(text.contains(kept), "\(kept)")
        }
        for hidden in ["hush", "anna", "192.0.2.7", "4711", "well"] { #expect(!text.contains(hidden), "\(hidden)") }
    }

    @Test func `without a daemon it has the settings of the file, and says why it has no status`() {
        let json = report([:]).json
        #expect(json["daemon"]?["settings"]?["cache"]?["disk"]?.string == "1 GiB")
        #expect(json["status"]?["unavailable"]?.string == "no daemon runs")
        #expect(json["failures"]?["unavailable"]?.string == "no daemon runs")
    }

    @Test(arguments: [
        ("plain words stay", "plain words stay"),
        ("https://u:p@h/p?q#f", "https://h/p?…"), ("url=\"https://h/p?q\" x", "url=\"https://h/p?…\" x"),
        ("/a/b?c=d", "/a/b?…"), ("/a?", "/a?…"), ("why?", "why?"),
        ("api_key=abc def", "api_key=[redacted] def"), ("Authorization: Basic abc", "Authorization: [redacted]"),
        ("client=::1", "client=[redacted]"), ("password=\"a b\"", "password=\"[redacted]\""),
    ])
    func `a text is shown without secrets`(text: String, shown: String) {
        #expect(SupportReport.shareable(text: text) == shown)
    }
}
