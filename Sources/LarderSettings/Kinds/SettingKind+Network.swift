// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderUpstream

extension SettingKind where Value == BaseURL {
    static var baseURL: SettingKind {
        baseURL(
            example: "https://api.example.com/v1/",
            ofQueries: "set parameters with `routes: [{ from: \"/{path*}\", setQuery: { … } }]`",
            credentials: "`headers: { Authorization: … }` in a `configure` block")
    }

    /// The URL of a collector of traces.
    static var collector: SettingKind {
        baseURL(
            example: "http://localhost:4318", ofQueries: "send credentials with `trace.headers`",
            credentials: "`trace.headers`")
    }

    /// - Parameters:
    ///   - ofQueries: the advice to those who wrote a query.
    ///   - credentials: the setting for them.
    private static func baseURL(example: String, ofQueries: String, credentials: String) -> SettingKind {
        .text(
            "URL", expected: "an absolute http or https URL, as `\(example)`",
            show: { .text($0.shown) },
            parse: { scalar in
                let read = BaseURL.read(scalar.text)
                if case .success(let base) = read, base.target.query != nil {
                    return .failure(TextRefusal(found: "a URL with a query", advice: ofQueries))
                }
                return read.mapError { refusal($0, of: scalar, credentials: credentials) }
            })
    }

    /// - Parameter credentials: the setting for them.
    private static func refusal(
        _ failure: BaseURL.Failure, of scalar: SettingNode.Scalar, credentials: String
    ) -> TextRefusal {
        switch failure {
        case .relative:
            let host = HostAndPort.split(scalar.text.prefix { $0 != "/" })?.host
            guard let host, HostPattern.isHostName(host) else { return TextRefusal() }
            let scheme = HostPattern.isLoopbackName(host) ? "http" : "https"
            return TextRefusal(suggestion: "\(scheme)://\(scalar.text)")
        case .scheme(let scheme):
            let meant = Nearest.name(to: scheme, in: ["https", "http"])
            return TextRefusal(
                suggestion: meant.map { $0 + scalar.text.dropFirst(scheme.count) },
                advice: "\(SettingsProblem.quoted(scheme)) is not a scheme that Larder speaks")
        case .credentials:
            return TextRefusal(found: "a URL with a user name", advice: "send credentials with \(credentials)")
        case .fragment: return TextRefusal(advice: "leave out the `#` and what follows it")
        case .uri(let error): return TextRefusal(advice: "\(error)")
        }
    }
}

extension SettingKind where Value == ParentProxy {
    static var parentProxy: SettingKind {
        .text(
            "proxy", expected: "`environment`, `none`, or a proxy as `http://proxy.example.com:3128`", isSecret: true,
            show: { parent in
                switch parent {
                case .environment: .text("environment")
                case .none: .text("none")
                case .proxy(let address): .text(address.url)
                }
            },
            parse: { scalar in
                if scalar.text == "environment" { return .success(.environment) }
                if scalar.text == "none" { return .success(ParentProxy.none) }
                do throws(ParentAddress.Failure) {
                    return .success(.proxy(try ParentAddress(reading: scalar.text)))
                } catch .scheme(let scheme) {
                    return .failure(
                        TextRefusal(
                            found: "a proxy of scheme \(SettingsProblem.quoted(scheme))",
                            advice: "Larder speaks to parent proxies over http only"))
                } catch {
                    return .failure(TextRefusal(found: "a text that is not a proxy URL"))
                }
            })
    }
}

extension SettingKind where Value == HostPattern {
    static var host: SettingKind {
        .text(
            "host", expected: "a host name or address, as `api.example.com`, `*.example.com` or `localhost:8080`",
            show: { .text($0.description) },
            parse: { scalar in
                if let pattern = HostPattern(scalar.text) { return .success(pattern) }
                if case .success(let url) = BaseURL.read(scalar.text) {
                    return .failure(TextRefusal(suggestion: url.target.authority, advice: "name the host only"))
                }
                if scalar.text.hasPrefix("."), HostPattern("*" + scalar.text) != nil {
                    return .failure(TextRefusal(suggestion: "*" + scalar.text))
                }
                return .failure(TextRefusal())
            })
    }
}

extension SettingKind where Value == WebOrigin {
    static var webOrigin: SettingKind {
        .text(
            "origin", expected: "the origin of a web page, as `http://localhost:5173`",
            show: { .text($0.description) },
            parse: { scalar in
                let text = scalar.text
                if let origin = WebOrigin(text) { return .success(origin) }
                if text == "null" || text.contains("*") {
                    return .failure(
                        TextRefusal(advice: "each origin is named in full, as any page could have another one"))
                }
                let withoutPath = text.split(separator: "/").prefix(2).joined(separator: "//")
                if WebOrigin(withoutPath) != nil { return .failure(TextRefusal(suggestion: withoutPath)) }
                return .failure(TextRefusal(suggestion: WebOrigin("http://" + text).map { "\($0)" }))
            })
    }
}

extension SettingKind where Value == PortRange {
    static var ports: SettingKind {
        .text(
            "port", expected: "a port or a range of ports from 1 to 65535, as `443` or `8000-8099`",
            bounds: "1 … 65535",
            show: { $0.first == $0.last ? .number(Int($0.first)) : .text($0.description) },
            parse: { PortRange($0.text).map { .success($0) } ?? .failure(TextRefusal()) })
    }
}

extension SettingKind where Value == AddressRange {
    static var addressRange: SettingKind {
        .text(
            "address range", expected: "an address or a range, as `192.0.2.7`, `192.0.2.0/24` or `fd00::/8`",
            show: { .text($0.description) },
            parse: { scalar in
                AddressRange.read(scalar.text).mapError { failure in
                    switch failure {
                    case .notAnAddress: TextRefusal(advice: "names of hosts are not looked up here")
                    case .badLength: TextRefusal(advice: "the length after `/` is 0 to 32, or to 128 for IPv6")
                    case .hostBits(let meant):
                        TextRefusal(suggestion: meant.description, advice: "bits after the prefix must be 0")
                    }
                }
            })
    }
}

extension SettingKind where Value == [TLSIdentityFiles] {
    /// Files with certificates, and those with their keys.
    static var identityFiles: SettingKind {
        .map(
            "map of paths", expected: "a map from a certificate's file to its key's", count: 256,
            read: { entry, reader in
                if let refusal = FileLocation.refusal(ofPath: entry.key) {
                    reader.refuse(
                        SettingsProblem(
                            at: entry.place, setting: reader.setting,
                            found: "the key \(SettingsProblem.quoted(entry.key))", expected: "an absolute path",
                            suggestion: refusal.suggestion, advice: refusal.advice))
                    return nil
                }
                return SettingKind<String>.path.read(entry.value, &reader).map {
                    TLSIdentityFiles(certificate: entry.key, key: $0)
                }
            },
            show: { ($0.certificate, .text($0.key)) })
    }
}

extension SettingKind where Value == [SocketAddress] {
    static func listenAddresses(count: ClosedRange<Int>) -> SettingKind {
        let one = SettingKind<[SocketAddress]>.text(
            "address", expected: "an IP address and a port, as `127.0.0.1:3128`, `[::1]:3128` or `localhost:3128`",
            show: { .list($0.map { .text($0.description) }) },
            parse: { scalar in
                if let addresses = SocketAddress.listeners(scalar.text) { return .success(addresses) }
                if SocketAddress.port(scalar.text) != nil {
                    return .failure(TextRefusal(suggestion: "127.0.0.1:\(scalar.text)"))
                }
                if SocketAddress(bare: scalar.text)?.isIPv6 == true {
                    return .failure(TextRefusal(suggestion: "[\(scalar.text)]:3128"))
                }
                if SocketAddress(bare: scalar.text) != nil {
                    return .failure(TextRefusal(suggestion: "\(scalar.text):3128"))
                }
                if let port = SocketAddress.port(scalar.text.drop { $0 == "*" || $0 == ":" }) {
                    return .failure(
                        TextRefusal(
                            suggestion: "127.0.0.1:\(port)",
                            advice: "`0.0.0.0:\(port)` would be every address there is"))
                }
                if scalar.text.lowercased() == "localhost" {
                    return .failure(TextRefusal(suggestion: "localhost:3128"))
                }
                if let colon = scalar.text.lastIndex(of: ":"), let port = Int(scalar.text[colon...].dropFirst()),
                    port > Int(UInt16.max)
                {
                    return .failure(TextRefusal(advice: "the largest port is \(UInt16.max)"))
                }
                return .failure(TextRefusal())
            })
        let many = SettingKind<[[SocketAddress]]>.list(of: one, count: count)
        return SettingKind(
            "list of addresses", expected: many.expected, bounds: many.bounds,
            read: { node, reader in many.read(node, &reader).map { $0.flatMap { $0 } } },
            show: one.show)
    }
}

extension SettingKind where Value == FieldName {
    static var fieldName: SettingKind {
        .text(
            "field name", expected: "the name of a field, as `CDN-Cache-Control`",
            show: { .text($0.spelling) },
            parse: { FieldName($0.text).map { .success($0) } ?? .failure(TextRefusal()) })
    }
}

extension SettingKind where Value == Method {
    static var method: SettingKind {
        .text(
            "method", expected: "a request method, as `GET`",
            show: { .text($0.token) },
            parse: { scalar in
                guard let method = Method(scalar.text) else { return .failure(TextRefusal()) }
                // Methods are case-sensitive (RFC 9110 §9.1); a known one in another case is a slip.
                let upper = scalar.text.uppercased()
                let isSlip =
                    upper != scalar.text
                    && ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"].contains(upper)
                return isSlip ? .failure(TextRefusal(suggestion: upper)) : .success(method)
            })
    }
}

extension SettingKind where Value == EngineURL {
    static var engine: SettingKind {
        .text(
            "URL",
            expected: "`redis://host:6379`, `rediss://…` for TLS, `redis+cluster://a:6379,b:6379`, or `unix:/path`",
            isSecret: true, show: { .text($0.description) },
            parse: { scalar in
                if let url = EngineURL(scalar.text) { return .success(url) }
                if scalar.text.contains("@") {
                    return .failure(
                        TextRefusal(
                            found: "a URL with a user name",
                            advice: "use `sharedCache.username` and `sharedCache.password`"))
                }
                return .failure(TextRefusal())
            })
    }
}
