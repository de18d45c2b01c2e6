// SPDX-License-Identifier: Apache-2.0

/// The reason why bytes are not a message. Parsing stops at the first error and repairs no input.
package struct ParseError: Error, Hashable, Sendable {
    package let code: Code
    /// The position, in bytes from the start of the head or trailer section; nil where it says nothing.
    package let position: Int?

    package init(_ code: Code, at position: Int? = nil) {
        self.code = code
        self.position = position
    }

    /// The status a server answers with. In a response from upstream every code is a 502.
    package var status: Status { code.status }

    /// A kind of error. The name is the word for logs and counters and never changes its meaning.
    package struct Code: Hashable, Sendable {
        package let name: String
        /// The error or the expectation, as a sentence for people.
        package let sentence: String
        package let status: Status

        package init(_ name: String, _ sentence: String, status: Status = 400) {
            self.name = name
            self.status = status
            self.sentence = sentence
        }

        package static func == (a: Code, b: Code) -> Bool { a.name == b.name }
        package func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }
}

extension ParseError: CustomStringConvertible {
    package var description: String {
        position.map { "\(code.name) at octet \($0): \(code.sentence)" } ?? "\(code.name): \(code.sentence)"
    }
}

extension ParseError.Code: CustomStringConvertible {
    package var description: String { name }
}

// MARK: Lines and sections

extension ParseError.Code {
    package static let bareCarriageReturn = Self("bareCarriageReturn", "A CR is not followed by LF.")
    package static let bareLineFeed = Self("bareLineFeed", "A line ends in LF alone; it must end in CR LF.")
    package static let nul = Self("nul", "There is a NUL octet in the head.")
    package static let controlOctet = Self("controlOctet", "There is a control octet in the head.")
    package static let headerSectionTooLarge = Self(
        "headerSectionTooLarge", "The header section is larger than the limit.", status: 431)
    package static let tooManyFieldLines = Self(
        "tooManyFieldLines", "There are more field lines than the limit.", status: 431)
    package static let lineFolding = Self(
        "lineFolding", "A field line begins with a blank; line folding is not accepted.")
    package static let blankBeforeColon = Self(
        "blankBeforeColon", "There is a blank between a field name and its colon.")
    package static let missingColon = Self("missingColon", "A field line has no colon.")
    package static let malformedFieldName = Self("malformedFieldName", "A field name is not a token.")
}

// MARK: Start lines

extension ParseError.Code {
    package static let emptyStartLine = Self("emptyStartLine", "The message begins with an empty line.")
    package static let malformedMethod = Self(
        "malformedMethod", "The request does not begin with a method and a space.")
    package static let methodTooLong = Self(
        "methodTooLong", "The method is longer than any that is known.", status: 501)
    package static let malformedTarget = Self(
        "malformedTarget", "The request target is empty or has an octet that is not visible ASCII.")
    package static let targetTooLong = Self("targetTooLong", "The request line is longer than the limit.", status: 414)
    package static let missingVersion = Self(
        "missingVersion", "The request line has no protocol version; HTTP/0.9 is not spoken.")
    package static let malformedVersion = Self(
        "malformedVersion", "The protocol version is not of the form HTTP/1.1.")
    package static let unsupportedVersion = Self(
        "unsupportedVersion", "The major protocol version is not 1.", status: 505)
    package static let malformedStatus = Self(
        "malformedStatus", "The status is not three digits between 100 and 599 followed by a space.")
    package static let statusLineTooLong = Self(
        "statusLineTooLong", "The status line is longer than the limit.")
}

// MARK: Host

extension ParseError.Code {
    package static let missingHost = Self("missingHost", "An HTTP/1.1 request has no Host field.")
    package static let severalHosts = Self("severalHosts", "The request has more than one Host field.")
    package static let malformedHost = Self("malformedHost", "The Host field is not a host with an optional port.")
    package static let emptyHost = Self("emptyHost", "The Host field is empty, so the target has no authority.")
}

// MARK: Framing

extension ParseError.Code {
    package static let severalLengths = Self("severalLengths", "There is more than one Content-Length field.")
    package static let malformedLength = Self("malformedLength", "Content-Length is not a run of digits.")
    package static let lengthTooLarge = Self("lengthTooLarge", "Content-Length is larger than can be counted.")
    package static let lengthAndTransferCoding = Self(
        "lengthAndTransferCoding", "There is both a Content-Length and a Transfer-Encoding field.")
    package static let transferCodingInHTTP10 = Self(
        "transferCodingInHTTP10", "Transfer-Encoding stands in an HTTP/1.0 message.")
    package static let malformedTransferCoding = Self(
        "malformedTransferCoding", "Transfer-Encoding is not exactly the word chunked.")
    package static let chunkedNotFinal = Self(
        "chunkedNotFinal", "Transfer-Encoding does not end in a single chunked, so the length is unknown.")
    package static let unknownTransferCoding = Self(
        "unknownTransferCoding", "Transfer-Encoding names a coding other than chunked.", status: 501)
    package static let contentInConnect = Self("contentInConnect", "A CONNECT request announces content.")
}

// MARK: Content

extension ParseError.Code {
    package static let malformedChunkSize = Self(
        "malformedChunkSize", "A chunk does not begin with its size in hexadecimal digits.")
    package static let chunkTooLarge = Self("chunkTooLarge", "A chunk size is larger than can be counted.")
    package static let malformedChunkExtension = Self(
        "malformedChunkExtension", "The text after a chunk size is neither an extension nor CR LF.")
    package static let chunkExtensionsTooLarge = Self(
        "chunkExtensionsTooLarge", "The chunk extensions are larger than the limit.")
    package static let missingChunkEnd = Self("missingChunkEnd", "The data of a chunk is not followed by CR LF.")
    package static let trailerSectionTooLarge = Self(
        "trailerSectionTooLarge", "The trailer section is larger than the limit.", status: 431)
    package static let contentCutShort = Self(
        "contentCutShort", "The connection ended before the content did.")
}
