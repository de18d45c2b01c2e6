// SPDX-License-Identifier: Apache-2.0

/// A response's description and its body.
public struct Message<Response: Sendable, Body: Sendable>: Sendable {
    /// The description of the response.
    public var response: Response
    /// The body of the response.
    public var body: Body

    /// Makes a message of its parts.
    public init(response: Response, body: Body) {
        self.response = response
        self.body = body
    }

    /// Both as a pair.
    public var tuple: (response: Response, body: Body) { (response, body) }
}

extension Message: Equatable where Response: Equatable, Body: Equatable {}
