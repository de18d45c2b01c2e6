// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The directives of a message (RFC 9111 §5.2), parsed once and conservatively:
///
/// - The first occurrence of a repeated directive counts (§4.2.1); of one that only restricts, any occurrence.
/// - Numbers may be quoted. Blanks around the equals sign make a member unreadable, and it is ignored. A number
///   with letters, decimals or a sign is `invalid`.
/// - A restricting directive applies even where its member is malformed.
package enum CacheControl {
    /// Directives of a request (§5.2.1), and `Pragma: no-cache` (§5.4) when there is no `Cache-Control`.
    package struct Request: Sendable, Hashable {
        package var noCache = false
        package var noStore = false
        package var noTransform = false
        package var onlyIfCached = false
        package var maxAge: Duration?
        package var minFresh: Duration?
        /// The staleness that the client accepts; unlimited when the directive has no argument.
        package var maxStale: Duration?
        /// RFC 5861 §4: the staleness that the client accepts instead of an error.
        package var staleIfError: Duration?

        package init() {}
    }

    /// Directives of a response (§5.2.2) and the extensions of RFC 5861 and RFC 8246.
    package struct Response: Sendable, Hashable {
        package struct Flags: OptionSet, Sendable, Hashable {
            package let rawValue: UInt16
            package init(rawValue: UInt16) { self.rawValue = rawValue }

            package static let noStore = Flags(rawValue: 1 << 0)
            /// Without argument, or with one that cannot be applied field by field.
            package static let noCache = Flags(rawValue: 1 << 1)
            /// Without argument, or with one that cannot be applied field by field.
            package static let isPrivate = Flags(rawValue: 1 << 2)
            package static let isPublic = Flags(rawValue: 1 << 3)
            package static let mustRevalidate = Flags(rawValue: 1 << 4)
            package static let proxyRevalidate = Flags(rawValue: 1 << 5)
            package static let mustUnderstand = Flags(rawValue: 1 << 6)
            package static let noTransform = Flags(rawValue: 1 << 7)
            package static let immutable = Flags(rawValue: 1 << 8)
        }

        package var flags: Flags = []
        package var maxAge: DeltaSeconds?
        package var sMaxage: DeltaSeconds?
        package var staleWhileRevalidate: DeltaSeconds?
        package var staleIfError: DeltaSeconds?
        /// The fields that `no-cache="…"` keeps out of reused responses.
        package var noCacheFields: [FieldName] = []
        /// The fields that `private="…"` keeps out of shared caches.
        package var privateFields: [FieldName] = []
        /// The field the directives came from: `Cache-Control`, a targeted field (RFC 9213), or none.
        package var source: FieldName?

        package init() {}

        /// True if a targeted field decides, so that `Expires` is ignored too (RFC 9213 §2.2).
        package var isTargeted: Bool { source != nil && source != .cacheControl }
    }
}

extension CacheControl.Request {
    /// True if the client wants the origin asked in any case: the user pressed Reload.
    package var bypassesBackoff: Bool { noCache || maxAge == .zero }

    /// Reads the directives of a request. `Pragma` counts only where there is no `Cache-Control` at all.
    package init(_ fields: Fields) {
        var parsed = CacheControl.Request()
        var seen: NumbersSeen = []
        var hasCacheControl = false
        fields.forEach(.cacheControl) { line in
            hasCacheControl = true
            DirectiveScanner.scan(line) { name, argument in parsed.take(name, argument, &seen) }
        }
        if !hasCacheControl {
            fields.forEach(.pragma) { line in
                DirectiveScanner.scan(line) { name, _ in
                    if name.isFolded("no-cache") { parsed.noCache = true }
                }
            }
        }
        self = parsed
    }

    /// The numeric directives that have occurred, whether or not their first argument was a number.
    private struct NumbersSeen: OptionSet {
        let rawValue: UInt8
        static let maxAge = NumbersSeen(rawValue: 1)
        static let minFresh = NumbersSeen(rawValue: 2)
        static let maxStale = NumbersSeen(rawValue: 4)
        static let staleIfError = NumbersSeen(rawValue: 8)
    }

    private mutating func take(
        _ name: UnsafeRawBufferPointer, _ argument: DirectiveScanner.Argument, _ seen: inout NumbersSeen
    ) {
        switch name.count {
        case 7: if name.isFolded("max-age") { takeNumber(\.maxAge, .maxAge, argument, &seen) }
        case 8: if name.isFolded("no-cache") { noCache = true } else if name.isFolded("no-store") { noStore = true }
        case 9:
            if name.isFolded("min-fresh") {
                takeNumber(\.minFresh, .minFresh, argument, &seen)
            } else if name.isFolded("max-stale") {
                let isFirst = !seen.contains(.maxStale)
                takeNumber(\.maxStale, .maxStale, argument, &seen)
                if isFirst, case .none = argument { maxStale = .foreverInRFC9111 }
            }
        case 12: if name.isFolded("no-transform") { noTransform = true }
        case 14:
            if name.isFolded("only-if-cached") {
                onlyIfCached = true
            } else if name.isFolded("stale-if-error") {
                takeNumber(\.staleIfError, .staleIfError, argument, &seen)
            }
        default: break
        }
    }

    /// The first occurrence counts, even if it is not a number and therefore ignored.
    private mutating func takeNumber(
        _ wish: WritableKeyPath<CacheControl.Request, Duration?>, _ number: NumbersSeen,
        _ argument: DirectiveScanner.Argument, _ seen: inout NumbersSeen
    ) {
        guard let delta = argument.delta, seen.insert(number).inserted else { return }
        self[keyPath: wish] = delta.duration
    }
}

extension CacheControl.Response {
    /// Reads the directives that govern a response: those of the first usable targeted field of `targets`, else
    /// those of `Cache-Control`.
    package init(_ fields: Fields, targets: [FieldName] = []) {
        for target in targets where fields.contains(target) {
            if let targeted = CacheControl.Response(targeted: target, in: fields) {
                self = targeted
                return
            }
        }
        var parsed = CacheControl.Response()
        fields.forEach(.cacheControl) { line in
            parsed.source = .cacheControl
            DirectiveScanner.scan(line) { name, argument in parsed.take(name, argument) }
        }
        self = parsed
    }

    private mutating func take(_ name: UnsafeRawBufferPointer, _ argument: DirectiveScanner.Argument) {
        switch name.count {
        case 6: if name.isFolded("public"), argument.isWellFormed { flags.insert(.isPublic) }
        case 7:
            if name.isFolded("max-age") {
                maxAge = maxAge ?? argument.delta
            } else if name.isFolded("private") {
                restrict(\.privateFields, .isPrivate, to: argument)
            }
        case 8:
            if name.isFolded("s-maxage") {
                sMaxage = sMaxage ?? argument.delta
            } else if name.isFolded("no-cache") {
                restrict(\.noCacheFields, .noCache, to: argument)
            } else if name.isFolded("no-store") {
                flags.insert(.noStore)
            }
        case 9: if name.isFolded("immutable"), argument.isWellFormed { flags.insert(.immutable) }
        case 12: if name.isFolded("no-transform") { flags.insert(.noTransform) }
        case 14: if name.isFolded("stale-if-error") { staleIfError = staleIfError ?? argument.delta }
        case 15:
            if name.isFolded("must-revalidate") {
                flags.insert(.mustRevalidate)
            } else if name.isFolded("must-understand"), argument.isWellFormed {
                flags.insert(.mustUnderstand)
            }
        case 16: if name.isFolded("proxy-revalidate") { flags.insert(.proxyRevalidate) }
        case 22:
            if name.isFolded("stale-while-revalidate") { staleWhileRevalidate = staleWhileRevalidate ?? argument.delta }
        default: break
        }
    }

    /// `no-cache` and `private`: with a list of field names they concern these fields, otherwise the response.
    private mutating func restrict(
        _ list: WritableKeyPath<CacheControl.Response, [FieldName]>, _ flag: Flags,
        to argument: DirectiveScanner.Argument
    ) {
        let octets: UnsafeRawBufferPointer
        switch argument {
        case .token(let value), .quoted(let value): octets = value
        case .none, .spaced, .malformed:
            flags.insert(flag)
            return
        }
        if let names = CacheControl.fieldNames(octets) {
            add(names, to: list, flag)
        } else {
            flags.insert(flag)
        }
    }

    /// Adds to the fields of a qualified directive. With more fields than the limit it applies as if it had no
    /// argument: each field name is searched for among them.
    mutating func add(_ names: [FieldName], to list: WritableKeyPath<CacheControl.Response, [FieldName]>, _ flag: Flags)
    {
        if self[keyPath: list].count + names.count > CacheControl.fieldNameLimit {
            flags.insert(flag)
        } else {
            self[keyPath: list] += names
        }
    }
}

extension CacheControl {
    /// The fields of a qualified directive; nil when the list is empty, contains something that is not a name, or names
    /// a field that caching itself depends on: then the directive applies as if it had no argument, which
    /// RFC 9111 §5.2.2.4 and §5.2.2.7 permit.
    static func fieldNames(_ list: UnsafeRawBufferPointer) -> [FieldName]? {
        var names: [FieldName] = []
        for member in list.split(separator: 0x2C) {
            let name = ASCII.trimmed(UnsafeRawBufferPointer(rebasing: member))
            if name.isEmpty { continue }
            guard let name = FieldName(bytes: name), !needed.contains(name.registeredCode) else { return nil }
            guard names.count < fieldNameLimit else { return nil }
            names.append(name)
        }
        return names.isEmpty ? nil : names
    }

    /// The most fields of a qualified directive.
    static let fieldNameLimit = 64

    private static let needed = FieldSet([
        .cacheControl, .cdnCacheControl, .vary, .age, .date, .expires, .eTag, .lastModified, .contentLength,
        .contentRange,
        .contentEncoding, .contentType, .pragma,
    ])
}

extension DirectiveScanner.Argument {
    var isWellFormed: Bool {
        switch self {
        case .none, .token, .quoted: true
        case .spaced, .malformed: false
        }
    }

    /// The argument as a number of seconds; nil when the member is to be ignored.
    var delta: DeltaSeconds? {
        switch self {
        case .token(let octets), .quoted(let octets): DeltaSeconds(octets)
        case .none, .malformed: .invalid
        case .spaced: nil
        }
    }
}
