// SPDX-License-Identifier: Apache-2.0

/// The expectation of a request before it sends its content (RFC 9110 §10.1.1).
package enum RequestExpectation: Hashable, Sendable {
    case none
    /// `100-continue`: the client waits for an interim response.
    case `continue`
    /// Anything else, which is answered with 417.
    case unknown

    package init(_ head: RequestHead) {
        var result = RequestExpectation.none
        let isWellFormed = head.fields.forEachElement(of: .expect) { element in
            let isContinue = "100-continue".utf8.elementsEqual(element.lazy.map(ASCII.lowercased))
            result = isContinue && result != .unknown ? .continue : .unknown
        }
        if !isWellFormed { result = .unknown }
        // A client of HTTP/1.0 cannot know the expectation, so it has none.
        self = head.version == .http10 ? .none : result
    }
}
