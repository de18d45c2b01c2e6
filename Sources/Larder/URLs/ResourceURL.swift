// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP

/// The URL a resource stands for.
///
/// Most are `http` or `https` URIs, in normal form except that dot segments which came from `child` or a path stay
/// unchanged. Anything else is kept as text: a resource with such a URL exists and can be navigated from, and each of
/// its requests fails with `InvalidURL`.
public struct ResourceURL: Sendable, Hashable {
    private enum Form: Sendable, Hashable {
        case target(TargetURI)
        case other(String)
    }

    private let form: Form

    /// Uses a URI that is already in normal form.
    public init(_ target: TargetURI) { form = .target(target) }

    /// Parses an absolute URL; a fragment is dropped and an internationalised host name is encoded. Text that is not an
    /// `http` or `https` URI is kept as it is.
    public init(_ text: String) {
        form = ResourceURL.parse(text).map(Form.target) ?? .other(text)
    }

    /// The URI of requests, or nil when the text is not one.
    public var target: TargetURI? {
        if case .target(let target) = form { target } else { nil }
    }

    /// True if requests can be made.
    public var isValid: Bool { target != nil }

    /// The URL as text; the original text if it is invalid.
    public var string: String {
        switch form {
        case .target(let target): target.string
        case .other(let text): text
        }
    }

    private static func parse(_ text: String) -> TargetURI? {
        var octets = Array(text.utf8.prefix { $0 != UInt8(ascii: "#") })
        guard let host = hostRange(octets) else { return nil }
        if octets[host].contains(where: { $0 >= 0x80 }) {
            guard let encoded = DomainName.encoded(String(decoding: octets[host], as: UTF8.self)) else { return nil }
            octets.replaceSubrange(host, with: encoded.utf8)
        }
        var target = TargetURI()
        do throws(URIError) {
            try octets.withUnsafeBufferPointer { bytes throws(URIError) in
                try target.set(absolute: UnsafeRawBufferPointer(bytes), keepingDotSegments: true)
            }
        } catch {
            return nil
        }
        return target
    }

    /// The range of the host in `scheme://host…`, up to the first of `/`, `?`, `:` behind it.
    private static func hostRange(_ octets: [UInt8]) -> Range<Int>? {
        guard let colon = octets.firstIndex(of: UInt8(ascii: ":")), octets[colon...].starts(with: "://".utf8) else {
            return nil
        }
        let start = colon + 3
        let end = octets[start...].firstIndex { "/?:".utf8.contains($0) } ?? octets.count
        return start..<end
    }
}

extension ResourceURL: CustomStringConvertible {
    public var description: String { string }
}
