// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderProxy
import Testing

@Suite("Names for any host")
struct HostLabelTests {
    @Test(arguments: [
        ("https://api.example.com/", "https--api-example-com"), ("http://api.example.com/", "http--api-example-com"),
        ("https://my-host.example/", "https--my--host-example"),
        ("https://xn--caf-dma.example/", "https--xn----caf--dma-example"),
        ("https://api.example:8443/", "https-8443--api-example"), ("http://api.example:443/", "http-443--api-example"),
        ("http://127.0.0.1:8080/", "http-8080--127-0-0-1"), ("http://localhost:3000/", "http-3000--localhost"),
        ("https://a_b.example/", "https--a_b-example"), ("https://8443.example/", "https--8443-example"),
        ("http://s--x.example/", "http--s----x-example"),
    ])
    func `a name stands for its host`(uri: String, label: String) throws {
        let uri = try TargetURI(uri)
        #expect(HostLabel(uri)?.label == label)
        let read = try #require(HostLabel(label))
        #expect(read.scheme == uri.scheme)
        #expect(read.authority == uri.authority)
        #expect(HostLabel.label(of: label + ".localhost").map(String.init) == label)
    }

    @Test(arguments: [
        "https://[::1]/", "https://a-.example/", "https://-a.example/", "https://a.-b.example/",
        "https://\(String(repeating: "long-", count: 11))er.example/",
    ])
    func `a host that would be ambiguous or too long has no name`(uri: String) throws {
        #expect(HostLabel(try TargetURI(uri)) == nil)
    }

    @Test(arguments: [
        "https--", "https---", "https--a---b", "https--a-", "https---a", "https-443--a", "http-80--a", "https-0443--a",
        "https-08443--a", "https-99999--a", "https-0--a", "https-8443--", "https--a-----b", "http----a",
    ])
    func `what is written otherwise stands for nothing`(label: String) {
        #expect(HostLabel(label) == nil, "\(label)")
        #expect(HostLabel.label(of: label + ".localhost") != nil, "\(label) is meant as a name")
    }

    @Test(arguments: [
        "localhost", "api.localhost", "https.localhost", "https-api.localhost", "http-2.localhost",
        "https--a.example", "https--a.localhost.example", "httpsx--a.localhost",
    ])
    func `other hosts are not meant as such a name`(host: String) { #expect(HostLabel.label(of: host) == nil) }

    @Test func `each label stands for one host`() throws {
        // Every host of up to five characters out of these, and every label: what reads back is what was written.
        var hosts: [String] = [""]
        var last = [""]
        for _ in 0..<5 {
            last = last.flatMap { text in ["a", "-", ".", "1"].map { text + $0 } }
            hosts += last
        }
        var owners: [String: String] = [:]
        for host in hosts {
            guard let uri = try? TargetURI("http://\(host)x/"), let label = HostLabel(uri)?.label else { continue }
            #expect(owners.updateValue(uri.host, forKey: label) == nil, "\(label)")
            #expect(HostLabel(label)?.host == uri.host)
        }
        #expect(owners.count > 100)
        for text in hosts {
            guard let read = HostLabel("http--\(text)") else { continue }
            #expect(read.label == "http--\(text)")
        }
    }
}
