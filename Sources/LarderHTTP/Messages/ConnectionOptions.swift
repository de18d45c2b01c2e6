// SPDX-License-Identifier: Apache-2.0

/// The options of all `Connection` lines of a message (RFC 9110 §7.6.1).
package struct ConnectionOptions: Hashable, Sendable {
    /// The most field names that are kept; no legitimate sender lists that many.
    package static let nominationLimit = 32

    package private(set) var hasClose = false
    package private(set) var hasKeepAlive = false
    package private(set) var hasUpgrade = false
    /// The fields that are named as hop-by-hop, `Upgrade` among them.
    package private(set) var nominated: [FieldName] = []
    /// True if a member was not a token, or there were too many names. Such a connection is not kept open.
    package private(set) var isMalformed = false

    package init(_ fields: Fields) {
        guard fields.contains(.connection) else { return }
        var options = ConnectionOptions()
        let isWellFormed = fields.forEachElement(of: .connection) { options.add($0) }
        if !isWellFormed { options.isMalformed = true }
        self = options
    }

    private init() {}

    private mutating func add(_ element: UnsafeRawBufferPointer) {
        if ConnectionOptions.equals(element, "close") {
            hasClose = true
        } else if ConnectionOptions.equals(element, "keep-alive") {
            hasKeepAlive = true
        } else if let name = FieldName(bytes: element), nominated.count < ConnectionOptions.nominationLimit {
            if name == .upgrade { hasUpgrade = true }
            nominated.append(name)
        } else {
            isMalformed = true
        }
    }

    private static func equals(_ element: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
        ASCII.equalFolded(element, UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    /// True if the sender keeps the connection open after this message (RFC 9112 §9.3).
    ///
    /// `honoursKeepAlive` says whether the `keep-alive` of HTTP/1.0 counts: a proxy must not accept it from a client,
    /// but may from an origin, and a gateway from both.
    package func persists(_ version: HTTPVersion, honoursKeepAlive: Bool) -> Bool {
        if hasClose || isMalformed { return false }
        return version == .http11 || (hasKeepAlive && honoursKeepAlive)
    }
}
