// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// A date that is read is written in the one form, and read again as the same.
func httpDate(_ input: UnsafeRawBufferPointer) {
    let now = Timestamp(seconds: 1_790_000_000)
    guard let date = HTTPDate.parse(input, now: now) else { return }
    guard date.nanoseconds != .min, date.nanoseconds != .max else { return }
    let text = HTTPDate.string(date)
    require(text.utf8.count == HTTPDate.length, "a date has 29 octets")
    require(HTTPDate.parse(text, now: now) == date, "a date survives writing")
}

/// Lists, quoted strings, parameters, media types and entity tags survive writing.
func listGrammar(_ input: UnsafeRawBufferPointer) {
    // None of these can hold what no field value may.
    guard !input.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) else { return }
    var elements: [[UInt8]] = []
    if ListGrammar.forEachElement(input, { elements.append(Array($0)) }) {
        let written = Array(elements.joined(separator: [0x2C, 0x20]))
        var again: [[UInt8]] = []
        let isWellFormed = written.withUnsafeBytes { ListGrammar.forEachElement($0) { again.append(Array($0)) } }
        require(isWellFormed && again == elements, "a list survives writing")
    }
    if let text = QuotedString.unquoted(input) {
        var written: [UInt8] = []
        require(QuotedString.append(text, to: &written) != nil, "what was quoted can be quoted")
        require(written.withUnsafeBytes { QuotedString.unquoted($0) } == text, "a quoted string survives writing")
    }
    if let type = MediaType(input) {
        let octets = type.description.unicodeScalars.map { UInt8($0.value) }
        require(octets.withUnsafeBytes { MediaType($0) } == type, "a media type survives writing")
    }
    var fields = Fields()
    fields.append(.ifNoneMatch, bytes: input)
    if case .tags(let tags)? = EntityTagList(.ifNoneMatch, in: fields) {
        for tag in tags {
            require(tag.weaklyMatches(tag), "a tag matches itself")
            require(tag.stronglyMatches(tag) != tag.isWeak, "a strong tag matches itself")
        }
    }
}

/// A target URI in normal form is its own normal form.
func targetURI(_ input: UnsafeRawBufferPointer) {
    guard let uri = try? TargetURI(String(decoding: input, as: UTF8.self)) else { return }
    require((try? TargetURI(uri.string)) == uri, "normal form is stable")
    _ = uri.hidesDotSegments
    for reading in uri.readings(below: nil) {
        require(reading.hasSameOrigin(as: uri), "a reading stays at its origin")
        require(uri.hidesDotSegments || !reading.hidesDotSegments, "a reading hides nothing new")
    }
}
