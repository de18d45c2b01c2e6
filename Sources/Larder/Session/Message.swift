// SPDX-License-Identifier: Apache-2.0

/// What describes a response, and its body.
public struct Message<Response: Sendable, Body: Sendable>: Sendable {
    /// What describes the response.
    public var response: Response
    /// What came with it.
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
