// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The addition of `Vary` to the cache key: the request fields a response was selected by, with the values they had
/// (RFC 9111 §4.1).
///
/// Two variances are equal when no request could tell their responses apart.
package struct Variance: Sendable {
    /// A field and its value in the request that got the response. Absent and empty differ.
    package struct Selector: Sendable {
        package let name: FieldName
        /// All lines joined by `, `, as received; nil when the field was absent.
        package let value: [UInt8]?
        /// The value in normal form.
        package let normal: [UInt8]?

        package init(name: FieldName, value: [UInt8]?) {
            self.name = name
            self.value = value
            normal = value.map { Variance.normalised($0, of: name) }
        }
    }

    /// In the order of their names.
    package let selectors: [Selector]
    /// `Vary: *`, or a malformed `Vary`: no request matches.
    package let matchesNothing: Bool
    /// True if the codings that a request accepts do not matter, because the stored content is sent in any of them.
    package private(set) var spansCodings = false

    /// The variance of a response without `Vary`: every request matches.
    package static let none = Variance(selectors: [])

    package init(selectors: [Selector], matchesNothing: Bool = false) {
        self.selectors = selectors
        self.matchesNothing = matchesNothing
    }

    /// The variance of a response with the fields `response` to a request with the fields `request`.
    package init(vary response: Fields, request: Fields) {
        guard response.contains(.vary) else {
            self = .none
            return
        }
        guard let names = Variance.names(response) else {
            self.init(selectors: [], matchesNothing: true)
            return
        }
        self.init(selectors: names.map { Selector(name: $0, value: Variance.combined($0, in: request)) })
    }

    /// The same, for a response whose content is sent in any coding or in none.
    package func spanningCodings(_ spans: Bool) -> Variance {
        var copy = self
        copy.spansCodings = spans
        return copy
    }

    /// The variance that matches where both do.
    package func joined(with other: Variance) -> Variance {
        let further = other.selectors.filter { selector in !selectors.contains { $0.name == selector.name } }
        return Variance(
            selectors: (selectors + further).sorted { $0.name.canonical < $1.name.canonical },
            matchesNothing: matchesNothing || other.matchesNothing
        ).spanningCodings(spansCodings)
    }

    /// The fields that distinguish requests.
    private var effective: [Selector] { spansCodings ? selectors.filter { $0.name != .acceptEncoding } : selectors }

    /// The fields of a request that it matches.
    package var fields: Fields {
        var fields = Fields()
        for selector in selectors { selector.value?.withUnsafeBytes { fields.append(selector.name, bytes: $0) } }
        return fields
    }

    /// True if it matches only requests with a certain credential, so that the response may be one user's.
    package var isByCredential: Bool { selectors.contains { $0.value != nil && SecretName.isOne(field: $0.name) } }

    /// Bytes of the values, in both forms.
    package var octetCount: Int {
        selectors.reduce(0) { $0 + ($1.value?.count ?? 0) + ($1.normal == $1.value ? 0 : $1.normal?.count ?? 0) }
    }

    package var isEmpty: Bool { selectors.isEmpty && !matchesNothing }

    /// True if a request with the fields `request` selects the same response.
    ///
    /// Equal bytes on one line, the usual case, are compared without copying.
    package func matches(_ request: Fields) -> Bool {
        if matchesNothing { return false }
        for selector in selectors {
            if spansCodings, selector.name == .acceptEncoding { continue }
            if !matches(selector, request) { return false }
        }
        return true
    }

    /// The fields by which requests may get different ones of responses with these variances.
    package static func selectingFields(_ variances: some Sequence<Variance>) -> [FieldName] {
        var names: [FieldName] = []
        for variance in variances {
            for selector in variance.effective where !names.contains(selector.name) { names.append(selector.name) }
        }
        return names
    }

    /// True if two requests are known to have the same value of a field. Each of many may be compared with each other
    /// one, so that long values are the same only if their bytes are.
    package static func isSame(_ name: FieldName, in one: Fields, and other: Fields) -> Bool {
        if one.count(of: name) == 1, other.count(of: name) == 1 {
            let areSame = one.withFirst(name) { own in
                other.withFirst(name) { areEqual($0, own) } ?? false
            }
            if areSame == true { return true }
        }
        guard length(of: name, in: one) <= longestNormalised, length(of: name, in: other) <= longestNormalised else {
            return false
        }
        return Selector(name: name, value: combined(name, in: one)).normal
            == Selector(name: name, value: combined(name, in: other)).normal
    }

    /// The longest values that are compared: the longest of cookies, twice.
    private static let longestCompared = 8192

    private static func areEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        guard one.count == other.count, one.count <= longestCompared else { return false }
        let words = one.count & ~7
        for offset in stride(from: 0, to: words, by: 8) {
            let word = one.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if word != other.loadUnaligned(fromByteOffset: offset, as: UInt64.self) { return false }
        }
        return one[words...].elementsEqual(other[words...])
    }

    private static func length(of name: FieldName, in fields: Fields) -> Int {
        var length = 0
        fields.forEach(name) { length += $0.count + 2 }
        return length
    }

    private func matches(_ selector: Selector, _ request: Fields) -> Bool {
        var lines = 0
        var isSame = false
        request.forEach(selector.name) { octets in
            lines += 1
            isSame = lines == 1 && selector.value.map { octets.elementsEqual($0) } ?? false
        }
        if lines == 0 { return selector.value == nil }
        guard let normal = selector.normal else { return false }
        if isSame { return true }
        guard let value = Variance.combined(selector.name, in: request) else { return false }
        return normal == Variance.normalised(value, of: selector.name)
    }

    /// The most fields that may select a response: each of them is looked up in each request.
    package static let fieldLimit = 64

    /// The members of `Vary`, sorted and each once; nil when one is `*` or no field name, or there are too many.
    static func names(_ response: Fields) -> [FieldName]? {
        var names: Set<FieldName> = []
        var isReadable = true
        response.forEach(.vary) { line in
            for member in line.split(separator: 0x2C) {
                let octets = ASCII.trimmed(UnsafeRawBufferPointer(rebasing: member))
                if octets.isEmpty { continue }
                if octets.count == 1, octets[0] == 0x2A { isReadable = false }
                if names.count <= fieldLimit, let name = FieldName(bytes: octets) {
                    names.insert(name)
                } else {
                    isReadable = false
                }
            }
        }
        return isReadable && names.count <= fieldLimit ? names.sorted { $0.canonical < $1.canonical } : nil
    }

    private static func combined(_ name: FieldName, in fields: Fields) -> [UInt8]? {
        var value: [UInt8]?
        fields.forEach(name) { octets in
            if value == nil {
                value = Array(octets)
            } else {
                value?.append(contentsOf: [0x2C, 0x20])
                value?.append(contentsOf: octets)
            }
        }
        return value
    }
}

extension Variance: Hashable {
    package static func == (a: Variance, b: Variance) -> Bool {
        let (left, right) = (a.effective, b.effective)
        return a.matchesNothing == b.matchesNothing && left.count == right.count
            && zip(left, right).allSatisfy { $0.name == $1.name && $0.normal == $1.normal }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(matchesNothing)
        for selector in effective {
            hasher.combine(selector.name)
            hasher.combine(selector.normal)
        }
    }
}
