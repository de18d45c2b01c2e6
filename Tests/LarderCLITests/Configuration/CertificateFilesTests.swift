// SPDX-License-Identifier: Apache-2.0

import Foundation
import LarderSettings
import Testing

@testable import LarderCLI

@Suite("Files without which the daemon does not start")
struct CertificateFilesTests {
    private let directory = FreshDirectory()
    private let authority = TestAuthority()

    private func file(_ name: String, _ text: String) throws -> String {
        let path = "\(directory.path)/\(name)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func absent(_ yaml: String) throws -> [SettingsProblem] {
        let fixture = try ConfigurationFixture(yaml)
        return try fixture.loader.load().absent
    }

    @Test func `a check says of certificates and keys what the daemon would say at its start`() throws {
        let (own, other) = (authority.identity("DNS:a.test"), authority.identity("DNS:b.test"))
        let certificate = try file("own.pem", own.certificate)
        let (key, otherKey) = (try file("own.key", own.privateKey), try file("other.key", other.privateKey))
        let (ca, text) = (try file("ca.pem", authority.pem), try file("text", "none\n"))
        func tls(_ certificate: String, _ key: String, _ more: String = "") -> String {
            "tls: { listen: [\"127.0.0.1:3129\"], certificate: \(certificate), key: \(key)\(more) }\n"
        }
        func service(_ own: String) -> String {
            "services: { a: { baseURL: \"https://a.test\", tls: { \(own) } } }\n"
        }
        let noKey = "is not a readable PEM file of the certificate's key"
        let noCertificates = "is not a readable PEM file of certificates"
        for (yaml, setting, words) in [
            (tls(certificate, otherKey), "tls.key", noKey), (tls(certificate, certificate), "tls.key", noKey),
            (tls(text, key), "tls.certificate", noCertificates),
            (tls(certificate, key, ", clientCA: \(text)"), "tls.clientCA", noCertificates),
            (
                tls(certificate, key, ", certificates: { \(certificate): \(otherKey) }"),
                "tls.certificates", noKey
            ),
            ("upstream: { caFile: \(text) }\n", "upstream.caFile", noCertificates),
            (service("caFile: \(text)"), "services.a.tls.caFile", noCertificates),
            (
                service("certificate: \(certificate), key: \(otherKey)"), "services.a.tls.key",
                "is not a readable PEM file with the private key of"
            ),
        ] {
            let problems = try absent(yaml)
            #expect(problems.map(\.setting) == [setting], "\(yaml)")
            #expect(problems.first?.found.contains(words) == true, "\(problems)")
        }
        let both = try absent("upstream: { caFile: \(text) }\nlog: { accessFile: \(directory.path)/none/a }\n")
        #expect(Set(both.map(\.setting)) == ["upstream.caFile", "log.accessFile"])
        let good =
            tls(certificate, key, ", clientCA: \(ca)")
            + service("caFile: \(ca), certificate: \(certificate), key: \(key)")
            + "upstream: { caFile: \(ca) }\n"
        #expect(try absent(good).isEmpty)
    }

    @Test func `a check says that the access log cannot be written`() throws {
        let problem = try #require(absent("log: { accessFile: \(directory.path)/none/access.log }\n").first)
        #expect(problem.setting == "log.accessFile")
        #expect(problem.found.contains("No such file or directory"))
        #expect(try absent("log: { accessFile: \(directory.path) }\n").first?.found.contains("Is a directory") == true)
        #expect(try absent("log: { accessFile: \(directory.path)/access.log }\n").isEmpty)
        #expect(directory.files.isEmpty)
    }
}
