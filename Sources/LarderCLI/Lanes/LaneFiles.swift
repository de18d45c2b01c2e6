// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO

/// The certificates trusted by a command, the system's and the daemon's CA, in a private directory of this user, in
/// each of the formats that programs read.
struct LaneFiles {
    /// The directory.
    let directory: String
    /// The paths of a file with all certificates, and of a file with the CA alone.
    let bundle, authority: String
    private let javaStore, wgetSettings: String

    /// The usual paths of a file with all certificates that the system trusts.
    private static let systemBundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]
    private static let sizeLimit = 16 << 20
    private static let names = ["certificates.pem", "larder-ca.pem", "certificates.jks", "wgetrc"]

    /// - Parameters:
    ///   - authority: the CA in PEM.
    ///   - environment: a bundle named by `SSL_CERT_FILE` is used as the system's.
    init(authority pem: [UInt8], environment: [String: String]) throws {
        do {
            directory = try WrittenFile.makeDirectory("larder-run", environment: environment)
        } catch {
            throw CommandFailure("cannot make a directory: \(error)")
        }
        bundle = "\(directory)/\(LaneFiles.names[0])"
        authority = "\(directory)/\(LaneFiles.names[1])"
        javaStore = "\(directory)/\(LaneFiles.names[2])"
        wgetSettings = "\(directory)/\(LaneFiles.names[3])"
        let known = ([environment["SSL_CERT_FILE"]].compactMap { $0 } + LaneFiles.systemBundles)
            .first { access($0, R_OK) == 0 }
        var all = known.flatMap { try? BoundedFile.read($0, limit: LaneFiles.sizeLimit) } ?? []
        if !all.isEmpty, all.last != 0x0A { all.append(0x0A) }
        all += pem
        do {
            try WrittenFile.write(all, to: bundle)
            try WrittenFile.write(pem, to: authority)
            try WrittenFile.write(JavaTrustStore.octets(of: all, at: SystemTime().now() / 1_000_000), to: javaStore)
            // It may contain passwords, like the file it starts with.
            try WrittenFile.write(LaneFiles.wgetSettings(bundle, environment), to: wgetSettings, mode: 0o600)
        } catch {
            LaneFiles.remove(directory)
            throw CommandFailure("cannot write to \(directory): \(error)")
        }
    }

    /// This user's own settings of wget, and the certificates, for which it has no variable.
    private static func wgetSettings(_ bundle: String, _ environment: [String: String]) -> [UInt8] {
        let own = environment["WGETRC"] ?? environment["HOME"].map { $0 + "/.wgetrc" }
        let text = own.flatMap { try? BoundedFile.read($0, limit: 1 << 20) } ?? []
        return text + Array("\nca_certificate = \(bundle)\n".utf8)
    }

    /// The variables that point programs to the certificates, and the variables that make programs use the proxy.
    ///
    /// - Parameters:
    ///   - door: the lane's own address, for programs that cannot send a user name.
    ///   - direct: hosts that are reached without a proxy.
    func variables(
        door: String?, direct: String, environment: [String: String]
    ) -> [ProxyVariables.Value] {
        var all = [
            "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO",
            "AWS_CA_BUNDLE", "DENO_CERT", "BUNDLE_SSL_CA_CERT", "HTTPLIB2_CA_CERTS",
            "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "NIX_SSL_CERT_FILE",
        ].map { ProxyVariables.Value(name: $0, value: bundle) }
        all += [
            ProxyVariables.Value(name: "NODE_EXTRA_CA_CERTS", value: authority),
            ProxyVariables.Value(name: "NODE_USE_ENV_PROXY", value: "1"),
            // Otherwise Git would wait to be asked for credentials, which the proxy does not do.
            ProxyVariables.Value(name: "GIT_HTTP_PROXY_AUTHMETHOD", value: "basic"),
            ProxyVariables.Value(name: "WGETRC", value: wgetSettings),
        ]
        guard let door, let colon = door.lastIndex(of: ":") else { return all }
        all.append(ProxyVariables.Value(name: "LARDER_PROXY", value: "http://\(door)"))
        guard environment["JAVA_HOME"] != nil || LaneFiles.isInstalled("java", environment) else { return all }
        let (host, port) = (door[..<colon], door[door.index(after: colon)...])
        let without = direct.split(separator: ",").map { $0.hasPrefix(".") ? "*\($0)" : String($0) }
        let options =
            [environment["JAVA_TOOL_OPTIONS"]].compactMap(\.self)
            + ["http", "https"].flatMap { ["-D\($0).proxyHost=\(host)", "-D\($0).proxyPort=\(port)"] }
            + [
                "'-Dhttp.nonProxyHosts=\(without.joined(separator: "|"))'",
                "'-Djavax.net.ssl.trustStore=\(javaStore)'", "-Djavax.net.ssl.trustStoreType=JKS",
            ]
        all.append(ProxyVariables.Value(name: "JAVA_TOOL_OPTIONS", value: options.joined(separator: " ")))
        return all
    }

    private static func isInstalled(_ program: String, _ environment: [String: String]) -> Bool {
        (environment["PATH"] ?? "").split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
    }

    func remove() { LaneFiles.remove(directory) }

    /// Removes the files created in `directory`, and nothing else.
    static func remove(_ directory: String) {
        for name in names { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }
}
