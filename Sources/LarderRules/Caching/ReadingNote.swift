// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Something in the fields of a message that is contradictory, malformed or out of all bounds, and how it is
/// interpreted. For explanations: it shows why a directive had no effect.
package struct ReadingNote: Sendable, Hashable {
    package let field: FieldName
    /// The finding and its interpretation, in words.
    package let text: String
    /// The section that requires it, or leaves the choice.
    package let source: String

    /// The oddities in the fields of a response that was received at `time`.
    package static func notes(
        onResponse fields: Fields, receivedAt time: Timestamp, policy: CachePolicy
    ) -> [ReadingNote] {
        var notes = ReadingNotes()
        let directives = CacheControl.Response(fields, targets: policy.targets)
        let source = directives.source ?? .cacheControl
        if directives.isTargeted, fields.contains(.cacheControl) {
            notes.add(.cacheControl, "has no say, as \(source) is obeyed in its place", "RFC 9213 §2.2")
        }
        if !directives.isTargeted { notes.directives(of: fields, lifetimes: ["max-age", "s-maxage"]) }
        notes.conflicts(in: directives, fields, policy)
        notes.dates(in: fields, directives, receivedAt: time, policy)
        notes.validators(in: fields)
        notes.qualified(directives, source, policy)
        return notes.list
    }

    /// The oddities in the fields of a request.
    package static func notes(onRequest fields: Fields) -> [ReadingNote] {
        var notes = ReadingNotes()
        notes.directives(of: fields, lifetimes: [])
        if fields.contains(.cacheControl), fields.contains(.pragma) {
            notes.add(.pragma, "has no say, as there is Cache-Control", "RFC 9111 §5.4")
        }
        return notes.list
    }
}

/// Notes as they are collected.
private struct ReadingNotes {
    var list: [ReadingNote] = []

    mutating func add(_ field: FieldName, _ text: String, _ source: String) {
        list.append(ReadingNote(field: field, text: text, source: source))
    }

    // MARK: Directives

    /// One occurrence of a directive with a number.
    private struct Number {
        let name: String
        let value: String
        let delta: DeltaSeconds?
        let hasArgument: Bool
        var isSpaced: Bool { delta == nil }
        /// True if the number exceeds the largest that counts.
        let isExcessive: Bool

        init(_ name: UnsafeRawBufferPointer, _ argument: DirectiveScanner.Argument) {
            self.name = String(decoding: name, as: UTF8.self).lowercased()
            delta = argument.delta
            if case .none = argument { hasArgument = false } else { hasArgument = true }
            switch argument {
            case .token(let octets), .quoted(let octets):
                value = shown(octets)
                isExcessive = exceedsInfinity(octets)
            case .none, .spaced, .malformed:
                value = ""
                isExcessive = false
            }
        }
    }

    private static let numbered: Set<String> = [
        "max-age", "s-maxage", "min-fresh", "max-stale", "stale-while-revalidate", "stale-if-error",
    ]

    /// Numeric directives that occur twice, have no number, or are beyond the largest that counts.
    mutating func directives(of fields: Fields, lifetimes: Set<String>) {
        var numbers: [Number] = []
        fields.forEach(.cacheControl) { line in
            DirectiveScanner.scan(line) { name, argument in
                let number = Number(name, argument)
                if ReadingNotes.numbered.contains(number.name) { numbers.append(number) }
            }
        }
        for name in Set(numbers.map(\.name)).sorted() {
            let all = numbers.filter { $0.name == name && !$0.isSpaced }
            if all.count < numbers.count(where: { $0.name == name }) {
                add(
                    .cacheControl, "\(name) has blanks around its equals sign and is left out of account",
                    "RFC 9111 §5.2")
            }
            guard let number = all.first else { continue }
            if all.count > 1 {
                let values = all.prefix(3).map { $0.value.isEmpty ? "nothing" : $0.value }
                add(
                    .cacheControl,
                    "\(name) is there \(all.count) times (\(values.joined(separator: ", then "))"
                        + "\(all.count > 3 ? ", …" : "")): the first counts", "RFC 9111 §4.2.1")
            }
            if !number.hasArgument, number.name == "max-stale" { continue }
            if number.delta == .invalid {
                let found = number.value.isEmpty ? "has no number" : "‘\(number.value)’ is no number of seconds"
                let effect =
                    lifetimes.contains(number.name)
                    ? "the response counts as stale"
                    : lifetimes.isEmpty ? "it is left out of account" : "it counts as 0"
                add(.cacheControl, "\(number.name): \(found), so \(effect)", "RFC 9111 §4.2.1")
            } else if number.isExcessive {
                add(
                    .cacheControl,
                    "\(number.name)=\(number.value) counts as \(DeltaSeconds.infinity) s, 68 years, which stands for ever",
                    "RFC 9111 §1.2.2")
            }
        }
    }

    /// Directives that contradict each other: the more restrictive one applies.
    mutating func conflicts(in directives: CacheControl.Response, _ fields: Fields, _ policy: CachePolicy) {
        let source = directives.source ?? .cacheControl
        let flags = directives.flags
        if flags.contains(.isPublic), flags.contains(.isPrivate) {
            add(source, "says both public and private: private is obeyed", "RFC 9111 §4.2.1")
        }
        if flags.contains(.noStore), flags.contains(.mustUnderstand) {
            add(
                source, "no-store counts only where the status is not understood, as must-understand is there",
                "RFC 9111 §5.2.2.3")
        } else if flags.contains(.noStore), directives.maxAge != nil || directives.sMaxage != nil {
            add(source, "no-store and a lifetime contradict each other: no-store is obeyed", "RFC 9111 §4.2.1")
        }
        let isShared = policy.role == .shared && directives.sMaxage != nil
        if isShared, directives.maxAge != nil {
            add(source, "s-maxage counts here, max-age is for private caches", "RFC 9111 §5.2.2.10")
        }
        if fields.contains(.expires), isShared || directives.maxAge != nil {
            add(.expires, "has no say, as there is \(isShared ? "s-maxage" : "max-age")", "RFC 9111 §5.3")
        }
    }

    // MARK: Dates

    mutating func dates(
        in fields: Fields, _ directives: CacheControl.Response, receivedAt time: Timestamp, _ policy: CachePolicy
    ) {
        let hasLifetime = directives.maxAge != nil || (policy.role == .shared && directives.sMaxage != nil)
        if fields.contains(.expires), !hasLifetime, fields.date(.expires, now: time) == nil {
            let found = fields.count(of: .expires) > 1 ? "is there more than once" : isNoDate(.expires, fields)
            add(.expires, "\(found): the response counts as expired", "RFC 9111 §5.3")
        }
        if fields.contains(.date) {
            if let date = fields.date(.date, now: time) {
                let ahead = (date - time).wholeSeconds
                if ahead > 1 {
                    add(.date, "lies \(ahead) s after the receipt: its age then counts as 0", "RFC 9111 §4.2.3")
                }
            } else {
                let found = fields.count(of: .date) > 1 ? "is there more than once" : isNoDate(.date, fields)
                add(.date, "\(found): the time of receipt counts", "RFC 9110 §6.6.1")
            }
        }
        if fields.contains(.lastModified), fields.date(.lastModified, now: time) == nil {
            let found =
                fields.count(of: .lastModified) > 1 ? "is there more than once" : isNoDate(.lastModified, fields)
            add(.lastModified, "\(found): it is no validator, and no lifetime is guessed from it", "RFC 9110 §8.8.2")
        }
        fields.withFirst(.age) { age($0, count: fields.count(of: .age)) }
    }

    private mutating func age(_ line: UnsafeRawBufferPointer, count: Int) {
        let first = line.firstIndex(of: 0x2C).map { UnsafeRawBufferPointer(rebasing: line[..<$0]) } ?? line
        let octets = ASCII.trimmed(first)
        if count > 1 || first.count < line.count {
            add(.age, "is there more than once: the first counts", "RFC 9111 §5.1")
        }
        if DeltaSeconds(octets) == .invalid {
            add(.age, "‘\(shown(octets))’ is no number of seconds: it counts as 0", "RFC 9111 §5.1")
        } else if exceedsInfinity(octets) {
            add(
                .age, "\(shown(octets)) counts as \(DeltaSeconds.infinity) s, 68 years: older than any lifetime",
                "RFC 9111 §1.2.2")
        }
    }

    private func isNoDate(_ name: FieldName, _ fields: Fields) -> String {
        "‘\(fields.withFirst(name) { shown($0) } ?? "")’ is no date"
    }

    // MARK: Others

    mutating func validators(in fields: Fields) {
        if fields.count(of: .eTag) > 1 {
            add(.eTag, "is there more than once: none is used, as nobody can tell which is meant", "RFC 9110 §8.8.3")
        }
        if fields.contains(.vary), Variance(vary: fields, request: Fields()).matchesNothing {
            let isStar = fields[.vary]?.contains("*") ?? false
            add(
                .vary, isStar ? "* matches no later request" : "cannot be read, so no later request matches",
                "RFC 9111 §4.1")
        }
    }

    /// `no-cache="…"` and `private="…"`.
    mutating func qualified(_ directives: CacheControl.Response, _ source: FieldName, _ policy: CachePolicy) {
        func names(_ fields: [FieldName]) -> String { fields.map(\.description).joined(separator: ", ") }
        if !directives.noCacheFields.isEmpty {
            let setsCookie = directives.noCacheFields.contains(.setCookie)
            add(
                source,
                "no-cache is said of \(names(directives.noCacheFields)) only: kept without that"
                    + (setsCookie ? ", and validated each time, as cookies are one client's" : ""),
                "RFC 9111 §5.2.2.4")
        }
        if !directives.privateFields.isEmpty, policy.role == .shared {
            add(
                source, "private is said of \(names(directives.privateFields)) only: kept without that",
                "RFC 9111 §5.2.2.7")
        }
    }
}

/// At most 60 characters of the received text.
private func shown(_ octets: UnsafeRawBufferPointer) -> String {
    let start = String(latin1: octets.prefix(60))
    return octets.count > 60 ? start + "…" : start
}

/// True if a number in digits is larger than the largest that counts.
private func exceedsInfinity(_ octets: UnsafeRawBufferPointer) -> Bool {
    guard !octets.isEmpty, octets.allSatisfy(ASCII.isDigit) else { return false }
    let digits = octets.drop { $0 == 0x30 }
    guard digits.count <= 10 else { return true }
    return digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) } > DeltaSeconds.infinity
}
