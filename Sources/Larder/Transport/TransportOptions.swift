// SPDX-License-Identifier: Apache-2.0

/// How a transport reaches origins. The defaults are meant to be right for programs that talk to APIs.
public struct TransportOptions: Sendable {
    /// Through which proxy origins are reached.
    public enum Proxy: Sendable, Hashable {
        /// As the variables `http_proxy`, `https_proxy` and `no_proxy` say when the transport is first used. Hosts on
        /// this machine are reached directly.
        case environment
        /// Through none.
        case none
        /// Through the one at a URL, `http://[user:password@]host[:port]`. Hosts on this machine are reached directly.
        case url(String)
    }

    /// Through which proxy origins are reached.
    public var proxy = Proxy.environment
    /// Whether the authorities that the system trusts are trusted (`SSL_CERT_FILE` and `SSL_CERT_DIR` move them).
    public var trustsSystem = true
    /// A PEM file with further authorities to trust.
    public var caFile: String?
    /// How many redirections one request follows; 0 has them come back as responses.
    public var redirectLimit = 10
    /// How long name resolution, connection and TLS handshake may take together.
    public var connectTimeout = Duration.seconds(10)
    /// How long an origin may say nothing, before its response or inside of it.
    public var silenceTimeout = Duration.seconds(60)
    /// How long a request may take until all of its response is there, redirections and waiting for a connection
    /// included; nil for any time. What is read piece by piece has this time until its response begins.
    public var timeout: Duration?
    /// Connections to one origin at a time; further requests wait for one.
    public var connectionLimit = 16
    /// How long a connection is kept open for the next request.
    public var idleTimeout = Duration.seconds(30)
    /// The longest content in octets that is taken into memory. Downloads and streams have no limit.
    public var contentLimit = 256 << 20
    /// The value of `User-Agent` for requests that have none; nil sends none.
    public var userAgent: String? = "larder"

    /// Makes the default options.
    public init() {}
}
