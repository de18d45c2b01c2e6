// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

/// The environment variables by which programs find a proxy.
struct ProxyVariables: Equatable {
    /// In the order they are printed.
    let values: [Value]
    /// Hosts that are reached without a proxy, separated by commas.
    var direct: String { values.first { $0.name == "no_proxy" }?.value ?? "" }

    struct Value: Equatable {
        let name: String
        let value: String
    }

    /// - Parameters:
    ///   - addresses: the daemon's client listeners, from its status.
    ///   - environment: hosts that already bypass the proxy continue to.
    ///   - credentials: name and password in the proxy's URL, if clients are identified. Some programs send nothing without
    ///     a password.
    init(addresses: [String], environment: [String: String], credentials: String? = nil) throws(CommandFailure) {
        guard let address = addresses.lazy.compactMap(ProxyVariables.reachable).first else {
            throw CommandFailure(
                "the daemon has no TCP address that clients could use", advice: "add one to `listen`")
        }
        let url = "http://\(credentials.map { $0 + "@" } ?? "")\(address)"
        let own = ["no_proxy", "NO_PROXY"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        var direct = own.split(separator: ",").map { String($0.drop { $0 == " " }) }
        for host in ["localhost", "127.0.0.1", "::1"] where !direct.contains(host) { direct.append(host) }
        let without = direct.joined(separator: ",")
        // Programs differ in the names they read; some ignore HTTP_PROXY, which a web server may set from a request.
        values = [
            ("http_proxy", url), ("https_proxy", url), ("no_proxy", without), ("HTTP_PROXY", url), ("HTTPS_PROXY", url),
            ("NO_PROXY", without),
        ].map { Value(name: $0, value: $1) }
    }

    /// The name and password in the URL of a daemon, encoded for the URL of a proxy.
    static func credentials(in url: String) -> String? {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        guard let at = rest.lastIndex(of: "@") else { return nil }
        return String(rest[..<at]).replacing("@", with: "%40").replacing("/", with: "%2F")
    }

    /// The address as a client on this machine writes it; nil for a Unix socket.
    private static func reachable(_ address: String) -> String? {
        guard !address.hasPrefix("unix:"), let colon = address.lastIndex(of: ":") else { return nil }
        let port = address[colon...]
        switch address[..<colon] {
        case "0.0.0.0": return "127.0.0.1" + port
        case "[::]": return "[::1]" + port
        default: return address
        }
    }

    /// The variables in another program's format. Those that it cannot hold, as its lines end with the value, are left
    /// out.
    static func text(_ values: [Value], in form: Form) -> String {
        values.filter { form == .sh || form == .fish || !$0.value.contains(where: \.isNewline) }
            .map { line($0, in: form) + "\n" }.joined()
    }

    private static func line(_ variable: Value, in form: Form) -> String {
        let (name, value) = (variable.name, variable.value)
        switch form {
        case .sh: return "export \(name)='\(value.replacing("'", with: "'\\''"))'"
        case .fish: return "set -gx \(name) '\(value.replacing("\\", with: "\\\\").replacing("'", with: "\\'"))';"
        case .systemd:
            let quoted = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("%", with: "%%")
            return "Environment=\"\(name)=\(quoted)\""
        case .lines: return "\(name)=\(value)"
        }
    }

    /// The text that unsets variables of these names.
    static func removal(of names: [String], in form: Form) -> String {
        names.map { name in
            switch form {
            case .sh: "unset \(name)\n"
            case .fish: "set -e \(name);\n"
            case .systemd: "UnsetEnvironment=\(name)\n"
            case .lines: "\(name)=\n"
            }
        }.joined()
    }

    /// The format of variables.
    enum Form: String, CaseIterable {
        case sh, fish
        /// For the unit of a service.
        case systemd
        /// `NAME=value`, for Docker's `--env-file` and `$GITHUB_ENV`.
        case lines
    }
}

extension ClientOptions {
    /// The variables with which programs use the running daemon.
    func proxyVariables(_ environment: [String: String], user: String? = nil) throws -> ProxyVariables {
        let status = try adminClient().send(.get, "/-/status")
        let addresses = (try? JSONValue(parsing: status))?["addresses"]?.array?.compactMap(\.string) ?? []
        return try ProxyVariables(
            addresses: addresses, environment: environment,
            credentials: user.map { $0 + ":x" }
                ?? daemonURL(environment).flatMap(ProxyVariables.credentials))
    }
}
