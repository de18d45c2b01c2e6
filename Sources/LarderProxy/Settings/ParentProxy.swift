// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Through which proxy origins are reached.
package enum ParentProxy: Sendable, Equatable {
    /// As `http_proxy`, `https_proxy` and `no_proxy` say.
    case environment
    /// Through none.
    case none
    case proxy(ProxyAddress)
}

/// Where a parent proxy is, and what it is shown.
package struct ProxyAddress: Sendable, Equatable {
    package var host: String
    package var port: UInt16
    /// `user:password`, decoded, for `Proxy-Authorization: Basic`; nil when the proxy asks for none.
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

    /// Reads `http://[user:password@]host[:port][/]`; the port is 80 unless named. The scheme may be missing, as
    /// it often is in `http_proxy`, when `needsScheme` is false.
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

/// The proxies that the process's environment names.
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

extension Settings {
    /// The proxy through which an origin is reached, or nil for none.
    ///
    /// What `service` says wins over `upstream.parent`; `noProxy` and loopback hosts are exempt from both, unless
    /// the service itself names a proxy.
    package func parentProxy(for service: ServiceSettings?, origin: TargetURI) -> ProxyAddress? {
        if case .proxy(let address)? = service?.parent { return address }
        let address: ProxyAddress?
        var exempt = upstream.noProxy
        switch service?.parent ?? upstream.parent {
        case .none: return nil
        case .proxy(let named): address = named
        case .environment:
            let proxies = upstream.environment
            if proxies.bypassesAll { return nil }
            address = origin.scheme == .https ? proxies.https : proxies.http
            exempt += proxies.bypass
        }
        // Mostly there is none, and then nothing else matters.
        guard let address else { return nil }
        let (host, port) = (origin.host, origin.port)
        if HostPattern.isLoopbackName(host) || exempt.contains(where: { $0.matches(host: host, port: port) }) {
            return nil
        }
        return address
    }
}
