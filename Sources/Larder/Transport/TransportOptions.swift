// SPDX-License-Identifier: Apache-2.0

/// How a transport connects to origins. The defaults are meant for programs that use APIs.
public struct TransportOptions: Sendable {
    /// The proxy for requests to origins.
    public enum Proxy: Sendable, Hashable {
        /// According to the variables `http_proxy`, `https_proxy` and `no_proxy` at the transport's first use. Hosts on
        /// this machine are connected to directly.
        case environment
        /// No proxy.
        case none
        /// The proxy at a URL, `http://[user:password@]host[:port]`. Hosts on this machine are connected to directly.
        case url(String)
    }

    /// The proxy for requests to origins.
    public var proxy = Proxy.environment
    /// True if the system's authorities are trusted (`SSL_CERT_FILE` and `SSL_CERT_DIR` change their location).
    public var trustsSystem = true
    /// A PEM file with further authorities to trust.
    public var caFile: String?
    /// How many redirections one request follows; with 0 they are returned as responses.
    public var redirectLimit = 10
    /// How long name resolution, connection and TLS handshake may take together.
    public var connectTimeout = Duration.seconds(10)
    /// How long an origin may be silent, before its response or within it.
    public var silenceTimeout = Duration.seconds(60)
    /// How long a request may take until its response is complete, including redirections and waiting for a connection;
    /// nil for no limit. For responses that are read piece by piece it applies until they begin.
    public var timeout: Duration?
    /// Concurrent connections to one origin; further requests wait for one.
    public var connectionLimit = 16
    /// How long a connection is kept open for the next request.
    public var idleTimeout = Duration.seconds(30)
    /// The longest content in bytes that is read into memory. Downloads and streams have no limit.
    public var contentLimit = 256 << 20
    /// The value of `User-Agent` for requests that have none; nil sends none.
    public var userAgent: String? = "larder"

    /// Makes the default options.
    public init() {}
}
