// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO

/// How upstreams are reached.
package struct UpstreamSettings: Sendable {
    /// Name resolution, connection, tunnel through a parent and TLS handshake together.
    package var connectTimeout = Duration.seconds(10)
    /// Silence of an origin, before its head or inside its content.
    package var silenceTimeout = Duration.seconds(60)
    /// How long a connection waits in the pool.
    package var idleTimeout = Duration.seconds(60)
    /// How long a connection rests between two requests: what an origin says in that time answers nothing.
    package var restTime = Duration.zero
    /// How long a request waits for a connection when as many are in use as may be.
    package var waitTimeout = Duration.seconds(10)
    /// How long a client that expects `100 Continue` waits for the origin's word.
    package var continueTimeout = Duration.seconds(1)
    /// Connections to one origin, in use, idle and being made, of one loop.
    package var connectionLimit = 256
    /// Connections to one origin that one loop keeps idle.
    package var idleLimit = 64
    /// Requests that wait for a connection to one origin.
    package var waiterLimit = 1024
    /// When an origin that fails is left alone.
    package var breaker = BreakerLimits()
    /// The longest that an origin is left alone because it asked for it.
    package var retryAfterLimit = Duration.seconds(60)
    package var parseLimits = ParseLimits()
    package var tls: TLSClientContext
    /// The name that origins are to prove, where it is not the one in their URLs.
    package var serverName: String?
    /// Told of origins that ask for a certificate of ours.
    package var onCertificateRequest: (@Sendable (Origin) -> Void)?

    package init(tls: TLSClientContext) { self.tls = tls }

    /// The same for connections to origins that are trusted, or that trust us, in another way.
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

/// How TLS is spoken with the origin of one service. Connections are shared by requests that have the same one.
package final class UpstreamTLS: Sendable, Hashable {
    package let context: TLSClientContext
    /// The name that the origin is to prove; nil for that of the URL.
    package let serverName: String?

    package init(_ context: TLSClientContext, serverName: String?) {
        self.context = context
        self.serverName = serverName
    }

    package static func == (a: UpstreamTLS, b: UpstreamTLS) -> Bool { a === b }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// What a loop knows about one origin, for the status.
package struct UpstreamStatistics: Sendable {
    package let origin: String
    package let active, idle, waiting: Int
    package let requests, failures: UInt64
    package let lastError: String?

    package init(
        origin: String, active: Int = 0, idle: Int = 0, waiting: Int = 0, requests: UInt64 = 0, failures: UInt64 = 0,
        lastError: String? = nil
    ) {
        self.origin = origin
        (self.active, self.idle, self.waiting) = (active, idle, waiting)
        (self.requests, self.failures) = (requests, failures)
        self.lastError = lastError
    }

    /// What two loops know about the same origin.
    package func adding(_ other: UpstreamStatistics) -> UpstreamStatistics {
        UpstreamStatistics(
            origin: origin, active: active + other.active, idle: idle + other.idle, waiting: waiting + other.waiting,
            requests: requests + other.requests, failures: failures + other.failures,
            lastError: lastError ?? other.lastError)
    }
}
