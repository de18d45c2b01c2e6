// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The proxy through which origins are reached.
package enum ParentProxy: Sendable, Equatable {
    /// According to `http_proxy`, `https_proxy` and `no_proxy`.
    case environment
    /// Directly.
    case none
    case proxy(ProxyAddress)
}

/// The address of a parent proxy, and its credentials.
package struct ProxyAddress: Sendable, Equatable {
    package var host: String
    package var port: UInt16
    /// `user:password`, decoded, for `Proxy-Authorization: Basic`; nil without credentials.
    package var credentials: Secret?

    package init(host: String, port: UInt16, credentials: Secret? = nil) {
        self.host = host
        self.port = port
        self.credentials = credentials
    }

    package enum Failure: Error, Equatable {
        case scheme(String)
        case form
    }

    /// Parses `http://[user:password@]host[:port][/]`; the port defaults to 80. The scheme may be missing, as often in
    /// `http_proxy`, when `needsScheme` is false.
    package static func read(_ text: String, needsScheme: Bool = true) -> Result<ProxyAddress, Failure> {
        var rest = Substring(text)
        if let colon = text.firstRange(of: "://") {
            let scheme = text[..<colon.lowerBound].lowercased()
            guard scheme == "http" else { return .failure(.scheme(scheme)) }
            rest = text[colon.upperBound...]
        } else if needsScheme {
            return .failure(.form)
        }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        var credentials: Secret?
        if let at = rest.lastIndex(of: "@") {
            guard let decoded = percentDecoded(rest[..<at]) else { return .failure(.form) }
            credentials = Secret(decoded)
            rest = rest[rest.index(after: at)...]
        }
        guard let (host, port) = HostAndPort.split(rest), port != 0,
            IPAddress(host) != nil || HostPattern.isHostName(host)
        else { return .failure(.form) }
        return .success(ProxyAddress(host: host.lowercased(), port: port ?? 80, credentials: credentials))
    }

    private static func percentDecoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(ASCII.hexValue), let low = rest.popFirst().flatMap(ASCII.hexValue)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        guard let text = String(validating: bytes, as: UTF8.self),
            !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
        else { return nil }
        return text
    }
}

extension ProxyAddress: CustomStringConvertible {
    /// Without the credentials.
    package var description: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

/// The proxies in the process's environment.
package struct EnvironmentProxies: Sendable, Equatable {
    /// For http origins.
    package var http: ProxyAddress?
    /// For https origins.
    package var https: ProxyAddress?
    package var bypass: [HostPattern] = []
    /// Whether `no_proxy` is `*`.
    package var bypassesAll = false

    package init() {}
}
