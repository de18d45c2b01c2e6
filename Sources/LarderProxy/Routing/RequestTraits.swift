// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// The properties of a request head that affect its exchange, found in one pass over the field lines.
struct RequestTraits {
    enum MethodClass { case get, head, other }

    struct Presence: OptionSet {
        let rawValue: UInt32

        static let via = Presence(rawValue: 1 << 0)
        static let range = Presence(rawValue: 1 << 1)
        static let conditional = Presence(rawValue: 1 << 2)
        static let cacheControl = Presence(rawValue: 1 << 3)
        static let authorization = Presence(rawValue: 1 << 4)
        static let cookie = Presence(rawValue: 1 << 5)
        /// Without it, persistence follows from the HTTP version.
        static let connection = Presence(rawValue: 1 << 6)
        /// Fields that browsers add about the page that caused a request.
        static let page = Presence(rawValue: 1 << 7)
        static let proxyAuthorization = Presence(rawValue: 1 << 8)
        /// Sent by every browser in some form: its name, or that it accepts documents.
        static let browser = Presence(rawValue: 1 << 9)
        /// From where on a client wants a stream of events.
        static let lastEventID = Presence(rawValue: 1 << 10)
    }

    var method = MethodClass.get
    var version = HTTPVersion.http11
    var presence: Presence = []
    var isPersistent = true
    var expectsContinue = false
    var wantsUpgrade = false
    /// `no-store` of `Cache-Control`.
    var asksNotToStore = false

    init() {}

    init(of head: RequestHead) {
        method = head.method == .get ? .get : head.method == .head ? .head : .other
        version = head.version
        var hasUpgrade = false
        var hasExpect = false
        head.fields.forEachLine { name, _, value in
            switch name {
            case .via: presence.insert(.via)
            case .range: presence.insert(.range)
            case .ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .ifRange: presence.insert(.conditional)
            case .cacheControl, .pragma: presence.insert(.cacheControl)
            case .authorization: presence.insert(.authorization)
            case .cookie: presence.insert(.cookie)
            case .connection: presence.insert(.connection)
            case .secFetchSite, .origin, .serviceWorker: presence.formUnion([.page, .browser])
            case .referer: presence.insert(.browser)
            case .userAgent where value.starts(with: Self.browserName): presence.insert(.browser)
            case .accept where Self.namesDocuments(value): presence.insert(.browser)
            case .proxyAuthorization: presence.insert(.proxyAuthorization)
            case .lastEventID: presence.insert(.lastEventID)
            case .upgrade: hasUpgrade = true
            case .expect: hasExpect = true
            default: break
            }
        }
        isPersistent = head.version == .http11
        if presence.contains(.connection) {
            let options = ConnectionOptions(head.fields)
            // Other than for a gateway, it may come from a proxy of HTTP/1.0 that passes on what is not for Larder.
            isPersistent = options.persists(
                head.version, honoursKeepAlive: head.target.first == UInt8(ascii: "/"))
            wantsUpgrade =
                hasUpgrade && options.hasUpgrade && head.version == .http11 && head.method == .get
                && Self.hasWebSocket(head.fields)
        }
        if presence.contains(.cacheControl) { asksNotToStore = CacheControl.Request(head.fields).noStore }
        if hasExpect, head.version == .http11 { expectsContinue = RequestExpectation(head) == .continue }
    }

    /// The start of every browser's name since Netscape.
    private static let browserName = Array("Mozilla/".utf8)

    /// True if an `Accept` field names HTML or XML, as browsers do for navigations (Fetch §2.2.7).
    private static func namesDocuments(_ value: UnsafeRawBufferPointer) -> Bool {
        guard value.contains(UInt8(ascii: "l")) else { return false }
        let text = String(decoding: value, as: UTF8.self).lowercased()
        return text.contains("text/html") || text.contains("xml")
    }

    /// The protocol to which an upgrade is supported, in the spelling that is sent inbound (RFC 6455 §4.1, which
    /// requires GET).
    ///
    /// Other protocols are ignored, as RFC 9110 §7.8 permits: they may carry requests, for instance HTTP/2's, that
    /// Larder would not see.
    static let webSocket = "websocket"

    /// True if `Upgrade` names that protocol.
    static func hasWebSocket(_ fields: Fields) -> Bool {
        var isNamed = false
        let isWellFormed = fields.forEachElement(of: .upgrade) { element in
            isNamed = isNamed || element.lazy.map(ASCII.lowercased).elementsEqual(webSocket.utf8)
        }
        return isNamed && isWellFormed
    }

    func has(_ presence: Presence) -> Bool { self.presence.contains(presence) }

    /// True if the request may be answered by what is stored for its content: ranges and conditions are defined for GET
    /// alone.
    var mayBeKeyedByContent: Bool { !wantsUpgrade && presence.isDisjoint(with: [.conditional, .range]) }

    /// True if the request may share a load with others: not when the response is useful to its client alone, nor when
    /// the client asks not to store it, and so expects the origin.
    func mayJoin(_ configuration: EffectiveConfiguration) -> Bool {
        let isConditional = has(.conditional) && !configuration.mayTransform
        return !isConditional && !asksNotToStore && presence.isDisjoint(with: [.range, .lastEventID])
            && (configuration.sharesAuthorized || !has(.authorization))
    }
}
