// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// A path below a base URL with captures: `/users/{id}`, `/files/{path*}`.
///
/// `{name}` matches one whole segment that is not empty; `{name*}`, as the last segment, matches the rest, slashes
/// included, and may be empty. Everything else is literal, in the normal form of URLs.
package struct RouteTemplate: Sendable, Equatable {
    package enum Segment: Sendable, Equatable {
        case literal([UInt8])
        case one(String)
        case rest(String)
    }

    /// The template as written.
    package let text: String
    package let segments: [Segment]

    /// The longest template, in bytes.
    package static let lengthLimit = 2_048

    package init(_ text: String) throws(RouteTemplateError) {
        guard text.utf8.count <= RouteTemplate.lengthLimit else { throw .tooLong(limit: RouteTemplate.lengthLimit) }
        guard text.hasPrefix("/") else { throw .relative }
        let parts = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        var segments: [Segment] = []
        for (index, part) in parts.enumerated() {
            segments.append(try RouteTemplate.segment(part, isLast: index == parts.count - 1))
        }
        self.text = text
        self.segments = segments
        if let again = names.enumerated().first(where: { names[..<$0.offset].contains($0.element) }) {
            throw .repeatedName(again.element)
        }
    }

    /// The names of the captures, in order.
    package var names: [String] {
        segments.compactMap {
            switch $0 {
            case .literal: nil
            case .one(let name), .rest(let name): name
            }
        }
    }

    private static func segment(_ part: Substring, isLast: Bool) throws(RouteTemplateError) -> Segment {
        guard part.contains("{") || part.contains("}") else { return .literal(try literal(part)) }
        guard part.hasPrefix("{"), part.hasSuffix("}") else { throw .partOfSegment(String(part)) }
        var name = part.dropFirst().dropLast()
        let isRest = name.hasSuffix("*")
        if isRest { name.removeLast() }
        let isName =
            name.first.map { !$0.isNumber } == true
            && name.utf8.allSatisfy { ASCII.isAlpha($0) || ASCII.isDigit($0) || $0 == UInt8(ascii: "_") }
        guard isName else { throw .invalidName(String(part)) }
        guard isRest else { return .one(String(name)) }
        guard isLast else { throw .restBeforeEnd(String(name)) }
        return .rest(String(name))
    }

    /// The segment in the normal form used for comparison.
    private static func literal(_ part: Substring) throws(RouteTemplateError) -> [UInt8] {
        if part.isEmpty { return [] }
        guard !part.contains("?"), !part.contains("#"), let uri = try? TargetURI("http://h/\(part)"),
            uri.path.utf8.count > 1
        else {
            throw .refusedSegment(String(part))
        }
        return Array(uri.path.utf8.dropFirst())
    }

    // MARK: Matching

    /// The captures if `path`, below the base and without a leading slash, matches; else nil.
    package func match(_ path: some Collection<UInt8>) -> [String: [UInt8]]? {
        var captures: [String: [UInt8]] = [:]
        var rest = Array(path)[...]
        for (index, segment) in segments.enumerated() {
            if case .rest(let name) = segment {
                captures[name] = Array(rest)
                return captures
            }
            let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            let part = rest[..<end]
            switch segment {
            case .literal(let octets): guard part.elementsEqual(octets) else { return nil }
            case .one(let name):
                guard !part.isEmpty else { return nil }
                captures[name] = Array(part)
            case .rest: break
            }
            let isLast = index == segments.count - 1
            guard isLast == (end == rest.endIndex) else { return nil }
            rest = isLast ? [] : rest[(end + 1)...]
        }
        return captures
    }

    /// The path, without a leading slash, with `captures` filled in.
    package func filled(with captures: [String: [UInt8]]) -> [UInt8] {
        var path: [UInt8] = []
        for (index, segment) in segments.enumerated() {
            if index > 0 { path.append(UInt8(ascii: "/")) }
            switch segment {
            case .literal(let octets): path += octets
            case .one(let name), .rest(let name): path += captures[name] ?? []
            }
        }
        return path
    }
}

/// Why a text is not a template.
package enum RouteTemplateError: Error, Sendable, Equatable {
    case tooLong(limit: Int)
    /// It does not begin with a slash.
    case relative
    /// A capture that is not a whole segment.
    case partOfSegment(String)
    case invalidName(String)
    case restBeforeEnd(String)
    case repeatedName(String)
    /// A segment that cannot occur in a normalised path.
    case refusedSegment(String)
}

extension RouteTemplateError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLong(let limit): "it is longer than \(limit) octets"
        case .relative: "start it with `/`"
        case .partOfSegment(let part): "`\(part)` mixes a place with text; `{name}` stands for a whole segment"
        case .invalidName(let part): "`\(part)` needs a name of letters, digits and `_` that begins with a letter"
        case .restBeforeEnd(let name): "`{\(name)*}` must be the last segment"
        case .repeatedName(let name): "the name `\(name)` comes twice"
        case .refusedSegment(let part): "`\(part)` is no segment of a path"
        }
    }
}
