// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Request fields that change the responses of some origins although they are not part of the key: a client that sends
/// one could otherwise poison the cache for others (RFC 9111 §7.1). No origin behind Larder can trust values that any
/// client may set.
package enum UnkeyedFields {
    /// True if a request field is not forwarded.
    package static func drops(_ name: FieldName?, spelled spelling: UnsafeRawBufferPointer) -> Bool {
        if let name { return registeredOverriding.contains(name) }
        let name = FieldName(token: spelling)
        if spelling.contains(UInt8(ascii: "_")) {
            // CGI and its successors (RFC 3875 §4.1.18) do not distinguish an underscore from a hyphen, so this name
            // is treated as the field it becomes there.
            let meant = FieldName(name.canonical.replacing("_", with: "-")) ?? name
            return meant.registeredCode != 0 || overrides(meant)
        }
        return overrides(name)
    }

    /// True if frameworks and servers read a field as the host, scheme, path, method, address or user of a request, as
    /// if their own proxy had added it.
    private static func overrides(_ name: FieldName) -> Bool {
        if overriding.contains(name) { return true }
        let text = name.canonical
        return text.first == "x" && prefixes.contains { text.hasPrefix($0) }
    }

    private static let overriding: Set<FieldName> = [
        .forwarded, .xForwardedHost, .xForwardedProto, .xForwardedFor, "X-Host", "X-HTTP-Host-Override",
        "X-Backend-Host",
        "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-URL-Scheme", "X-Scheme", "Front-End-Https",
        "X-Real-IP", "X-Client-IP", "X-Originating-IP", "X-Cluster-Client-IP", "X-ProxyUser-IP", "True-Client-IP",
        "CF-Connecting-IP", "CF-Visitor", "Fastly-Client-IP", "Client-IP", "Forwarded-For", "Remote-User",
        "Client-Cert",
        "Client-Cert-Chain", "SSL-Client-Cert", "SSL-Client-Verify", "SSL-Client-Subject-DN", "X-Client-Cert",
        "X-Client-DN", "X-Client-Verify", "X-ARR-ClientCert", "X-ARR-SSL", "Proxy",
        "X-Matched-Path", "X-HTTP-DestinationURL", "X-HTTP-Path-Override", "X-WAP-Profile", "X-Sendfile-Type",
        "X-Backend", "Base-Url", "X-Base-Url", "Request-Uri", "X-Request-Uri", "Proxy-Host", "Proxy-Url", "X-Proxy-Url",
    ]
    /// Prefixes of further ones.
    private static let prefixes = [
        "x-forward", "x-original-", "x-override-", "x-rewrite-", "x-remote-", "x-auth-request-", "x-ssl-", "x-envoy-",
        "x-amzn-mtls-", "x-accel-", "x-invoke-", "x-middleware-", "x-now-",
    ]
    /// Those of them that have a code.
    private static let registeredOverriding = FieldSet(overriding.filter { $0.registeredCode != 0 })
}
