// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO

/// The settings of connections to origins.
package struct UpstreamSettings: Sendable {
    /// Name resolution, connection, tunnel through a parent and TLS handshake together.
    package var connectTimeout = Duration.seconds(10)
    /// The longest silence of an origin, before its head or inside its content.
    package var silenceTimeout = Duration.seconds(60)
    /// How long a connection stays idle in the pool.
    package var idleTimeout = Duration.seconds(60)
    /// How long a connection rests between two requests: bytes from the origin in that time answer nothing.
    package var restTime = Duration.zero
    /// How long a request waits for a connection when the limit is reached.
    package var waitTimeout = Duration.seconds(10)
    /// How long a client that expects `100 Continue` waits for the origin's answer.
    package var continueTimeout = Duration.seconds(1)
    /// Connections of one loop to one origin: in use, idle and being opened.
    package var connectionLimit = 256
    /// Idle connections that one loop keeps to one origin.
    package var idleLimit = 64
    /// Idle connections that one loop keeps to all origins together.
    package var idleConnections = 4_096
    /// Requests that wait for a connection to one origin.
    package var waiterLimit = 1024
    /// When an origin that fails is no longer asked.
    package var breaker = BreakerLimits()
    /// The longest pause that an origin can ask for.
    package var retryAfterLimit = Duration.seconds(60)
    package var parseLimits = ParseLimits()
    package var tls: TLSClientContext
    /// The name that origins must prove, where it is not the one in their URLs.
    package var serverName: String?
    /// Called with origins that only clients themselves can speak to, and the monotonic time in nanoseconds.
    package var onObstacle: (@Sendable (Origin, OriginObstacle, Int64) -> Void)?

    package init(tls: TLSClientContext) { self.tls = tls }

    /// The same for connections to origins with their own trust or client certificates.
    func with(_ tls: UpstreamTLS?) -> UpstreamSettings {
        guard let tls else { return self }
        var settings = self
        settings.tls = tls.context
        settings.serverName = tls.serverName
        return settings
    }

    var poolLimits: OriginPoolStateMachine.Limits {
        OriginPoolStateMachine.Limits(
            connections: max(connectionLimit, 1), idle: idleLimit, waiters: waiterLimit,
            idleTime: idleTimeout.wholeNanoseconds, restTime: restTime.wholeNanoseconds)
    }
}

/// A property of an https origin for which Larder cannot take the place of its clients.
package enum OriginObstacle: Sendable {
    /// It asks for a client certificate, which only the client has.
    case asksForCertificate
    /// It refuses HTTP/1.1 by ALPN (RFC 7301), or answers it with frames of HTTP/2.
    case speaksHTTP2Only
}

/// The TLS options for the origin of one service. Connections are shared by requests with the same options.
package final class UpstreamTLS: Sendable, Hashable {
    package let context: TLSClientContext
    /// The name that the origin must prove; nil for the name in the URL.
    package let serverName: String?
    /// Tells the client certificate in the context from others; nil without one.
    package let certificate: String?

    package init(_ context: TLSClientContext, serverName: String?, certificate: String? = nil) {
        self.context = context
        self.serverName = serverName
        self.certificate = certificate
    }

    package static func == (a: UpstreamTLS, b: UpstreamTLS) -> Bool { a === b }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A loop's statistics about one origin, for the status.
package struct UpstreamStatistics: Sendable {
    package let origin: String
    package let active, idle, waiting: Int
    package let requests, failures: UInt64
    /// Answers with a status of 500 or more.
    package let serverErrors: UInt64
    package let lastError: String?
    /// How long ago that was.
    package let sinceLastError: Duration?

    package init(
        origin: String, active: Int = 0, idle: Int = 0, waiting: Int = 0, requests: UInt64 = 0, failures: UInt64 = 0,
        serverErrors: UInt64 = 0, lastError: String? = nil, sinceLastError: Duration? = nil
    ) {
        self.origin = origin
        (self.active, self.idle, self.waiting) = (active, idle, waiting)
        (self.requests, self.failures, self.serverErrors) = (requests, failures, serverErrors)
        self.lastError = lastError
        self.sinceLastError = sinceLastError
    }

    /// The sum of two loops' statistics about the same origin.
    package func adding(_ other: UpstreamStatistics) -> UpstreamStatistics {
        let isOlder = other.sinceLastError.map { theirs in sinceLastError.map { theirs < $0 } ?? true } ?? false
        let latest = isOlder ? other : self
        return UpstreamStatistics(
            origin: origin, active: active + other.active, idle: idle + other.idle, waiting: waiting + other.waiting,
            requests: requests + other.requests, failures: failures + other.failures,
            serverErrors: serverErrors + other.serverErrors, lastError: latest.lastError,
            sinceLastError: latest.sinceLastError)
    }
}
