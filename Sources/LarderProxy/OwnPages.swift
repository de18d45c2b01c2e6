// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderRules

/// Answers requests addressed to Larder itself: the first page and everything under `/-/`. A protocol,
/// because the target of the pages is above this one.
package protocol OwnPages: Sendable {
    func answer(_ request: OwnRequest, of proxy: Proxy) async -> OwnResponse

    /// Takes the content of a request as it comes; nil for all but those with content of any length.
    func intake(of request: OwnRequest, _ proxy: Proxy) -> (any OwnIntake)?

    /// True if the request is only for users, where there are any.
    func isForUsers(_ request: OwnRequest, _ proxy: Proxy) -> Bool
}

extension OwnPages {
    package func isForUsers(_ request: OwnRequest, _ proxy: Proxy) -> Bool { false }

    package func intake(of request: OwnRequest, _ proxy: Proxy) -> (any OwnIntake)? { nil }
}

/// Takes content, in order; it slows down who sends it, and never fails before the end. One exchange calls it, on its
/// loop, one call after another.
package protocol OwnIntake: AnyObject, Sendable {
    func take(_ chunk: ContentChunk) async
}

/// Content that is made while it is sent. One exchange calls it, on its loop, one call after another.
package protocol OwnContent: AnyObject, Sendable {
    /// The next bytes, at least one; nil at the end. An error ends the connection.
    func next() async throws -> ContentChunk?
}

/// A request addressed to Larder itself.
package struct OwnRequest: Sendable {
    package var method: Method
    /// The path, still percent-encoded.
    package var path: String
    /// The query's parameters, decoded, in order.
    package var parameters: [(name: String, value: String)]
    package var fields: Fields
    package var content: [UInt8]
    /// The receiver of the content, which is not collected then.
    package var intake: (any OwnIntake)?
    /// The request came over the Unix socket, whose permissions are the authorisation.
    package var isOverSocket: Bool
    /// The address the client connected to, as the host of a URI, where that is a listener of the admin surface alone.
    package var adminHost: String?
    /// True if the client is on this machine.
    package var isLoopback: Bool
    /// True if it came over TLS.
    package var isSecure = false
    /// True if it came over the socket on which every user of this machine may open lanes.
    package var isForLanes = false
    /// The user of the client, over a Unix socket.
    package var user: UInt32?

    package init(
        method: Method = .get, path: String, parameters: [(name: String, value: String)] = [],
        fields: Fields = Fields(),
        content: [UInt8] = [], isOverSocket: Bool = false, adminHost: String? = nil,
        isLoopback: Bool = true
    ) {
        self.method = method
        self.path = path
        self.parameters = parameters
        self.fields = fields
        self.content = content
        self.isOverSocket = isOverSocket
        self.adminHost = adminHost
        self.isLoopback = isLoopback
    }

    /// The first value of a parameter.
    package func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// All values of a parameter.
    package func values(of name: String) -> [String] { parameters.filter { $0.name == name }.map(\.value) }
}

package struct OwnResponse: Sendable {
    package var status: Status
    package var fields: Fields
    package var content: [UInt8]
    /// Set for a response that is an event stream in place of `content`.
    package var events: OwnEvents?
    /// Set for content of unknown length in place of `content`.
    package var source: (any OwnContent)?

    package init(status: Status = 200, type: String, _ content: some Sequence<UInt8>, fields: Fields = Fields()) {
        self.status = status
        self.fields = fields
        self.fields[.contentType] = type
        self.content = Array(content)
    }

    /// An error response, in the format `request` asks for.
    package init(_ problem: Problem, for request: OwnRequest) {
        let format = ProblemFormat(for: request.fields)
        self.init(
            status: problem.status, type: format.mediaType, problem.content(as: format, instance: request.path).utf8,
            fields: problem.fields)
        if format == .html { fields[.contentSecurityPolicy] = "default-src 'none'; style-src 'unsafe-inline'" }
        fields[.proxyStatus] = problem.proxyStatus
    }
}

/// An event stream as a response.
package struct OwnEvents: Sendable {
    package var subject: EventSubject
    /// Called as soon as the stream reports all events.
    package var whenSubscribed: (@Sendable () async -> Void)?

    package init(_ subject: EventSubject, whenSubscribed: (@Sendable () async -> Void)? = nil) {
        self.subject = subject
        self.whenSubscribed = whenSubscribed
    }
}
