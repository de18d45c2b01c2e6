// SPDX-License-Identifier: Apache-2.0

/// Reads the trailer section after the last chunk (RFC 9112 §7.1.2). The section is usually empty, and then not copied.
/// Other sections are rare and small, so they are collected in a separate buffer.
struct TrailerReader: Sendable {
    private(set) var fields = Fields()
    private var collected: [UInt8] = []
    private var lines = LineReader()
    private var section = FieldSectionParser(start: 0)

    /// How many bytes of `input` belong to the section, and whether it is complete.
    mutating func read(
        _ input: RawSpan, limits: ParseLimits
    ) throws(ParseError) -> (consumed: Int, isComplete: Bool) {
        if collected.isEmpty, input.byteCount >= 2, input[0] == 0x0D, input[1] == 0x0A { return (2, true) }
        let known = collected.count
        // Even the empty section takes two bytes.
        let size = max(limits.trailerSection, 2)
        let taken = min(input.byteCount, size - known)
        collected.append(input.extracting(first: taken))
        let octets = collected
        let isComplete = try section.parse(
            octets.span.bytes, lines: &lines, into: &fields, size: size, count: limits.fieldLines,
            overflow: .trailerSectionTooLarge)
        guard isComplete else { return (taken, false) }
        collected = []
        fields.removeAll { name, _, _ in name.map(TrailerReader.isForbidden) ?? false }
        return (lines.start - known, true)
    }

    /// Fields that are meaningful only before the content, or only for one connection (RFC 9110 §6.5.1, §7.6.1). They
    /// are dropped from trailer sections, so that no recipient mistakes them for header fields.
    static func isForbidden(_ name: FieldName) -> Bool { forbidden.contains(name) }

    private static let forbidden: Set<FieldName> = [
        // Framing and this connection
        .transferEncoding, .contentLength, .connection, .keepAlive, .proxyConnection, .te, .trailer, .upgrade,
        // Routing
        .host, .forwarded, .via, .maxForwards, .origin, .referer, .xForwardedFor, .xForwardedHost, .xForwardedProto,
        // Authentication and state
        .authorization, .proxyAuthorization, .wwwAuthenticate, .proxyAuthenticate, .proxyAuthenticationInfo,
        .authenticationInfo, .cookie, .setCookie, .larderToken,
        // Controls and conditions of requests
        .cacheControl, .pragma, .expect, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
        .accept, .acceptCharset, .acceptEncoding, .acceptLanguage,
        // Control data of responses
        .age, .date, .expires, .location, .retryAfter, .vary, .warning, .cdnCacheControl, .surrogateControl,
        .cacheStatus, .proxyStatus, .cacheGroups, .cacheGroupInvalidation, .accessControlAllowOrigin,
        .contentSecurityPolicy, .strictTransportSecurity, .xContentTypeOptions, .referrerPolicy,
        // Metadata of the content
        .contentEncoding, .contentType, .contentRange, .contentLanguage, .contentLocation, .contentDisposition,
    ]
}
