// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The certificates that a command trusts: the system's and the daemon's CA, in a directory of this user's alone.
struct LaneFiles {
    private let directory: String
    /// All certificates, and the CA by itself.
    let bundle, authority: String

    /// Where systems keep all certificates they trust in one file.
    private static let systemBundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]
    private static let sizeLimit = 16 << 20

    /// - Parameters:
    ///   - authority: the CA in PEM.
    ///   - environment: a bundle named by `SSL_CERT_FILE` counts as the system's.
    init(authority pem: [UInt8], environment: [String: String]) throws {
        do {
            directory = try WrittenFile.makeDirectory("larder-run", environment: environment)
        } catch {
            throw CommandFailure("cannot make a directory: \(error)")
        }
        bundle = directory + "/certificates.pem"
        authority = directory + "/larder-ca.pem"
        let known = ([environment["SSL_CERT_FILE"]].compactMap { $0 } + LaneFiles.systemBundles)
            .first { access($0, R_OK) == 0 }
        var all = known.flatMap { try? BoundedFile.read($0, limit: LaneFiles.sizeLimit) } ?? []
        if !all.isEmpty, all.last != 0x0A { all.append(0x0A) }
        do {
            try WrittenFile.write(all + pem, to: bundle)
            try WrittenFile.write(pem, to: authority)
        } catch {
            remove()
            throw CommandFailure("cannot write to \(directory): \(error)")
        }
    }

    /// The variables by which programs find certificates, and those that have them use the proxy at all.
    var variables: [ProxyVariables.Value] {
        let all = [
            "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO",
            "AWS_CA_BUNDLE", "DENO_CERT", "BUNDLE_SSL_CA_CERT",
        ].map { ProxyVariables.Value(name: $0, value: bundle) }
        return all + [
            ProxyVariables.Value(name: "NODE_EXTRA_CA_CERTS", value: authority),
            ProxyVariables.Value(name: "NODE_USE_ENV_PROXY", value: "1"),
            // Git would wait to be asked who it is, and nobody asks.
            ProxyVariables.Value(name: "GIT_HTTP_PROXY_AUTHMETHOD", value: "basic"),
        ]
    }

    func remove() {
        unlink(bundle)
        unlink(authority)
        rmdir(directory)
    }
}
