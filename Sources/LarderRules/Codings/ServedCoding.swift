// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The content codings in which content is stored and can be sent (RFC 9110 §8.4.1), and the lack of one.
package enum ServedCoding: String, Sendable, Hashable, CaseIterable {
    case identity, gzip, br, zstd

    /// Finds a coding by its name, case-insensitively; `x-gzip` is `gzip` (RFC 9110 §8.4.1.3).
    package init?(token: some StringProtocol) {
        let name = token.lowercased()
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// The coding of content with these fields; nil when there are several or one that is not known here.
    package init?(of fields: Fields) {
        guard let value = fields[.contentEncoding] else {
            self = .identity
            return
        }
        let octets = Array(value.utf8)
        let token = octets.withUnsafeBytes { String(decoding: ASCII.trimmed($0), as: UTF8.self) }
        self.init(token: token)
    }
}

/// The weights a client gives to content codings (RFC 9110 §12.5.3).
package struct AcceptedCodings: Sendable, Hashable {
    /// Thousandths for the codings that are named; the first mention counts.
    private var named: [ServedCoding: Int] = [:]
    /// That of `*`.
    private var others: Int?

    /// Members that do not follow the grammar are ignored. Without the field every coding is acceptable but none is
    /// asked for, so the content is sent without one, as after an empty field.
    package init(_ request: Fields) {
        request.forEach(.acceptEncoding) { line in
            for member in line.split(separator: 0x2C) {
                let text = member.filter { !ASCII.isBlank($0) }.map(ASCII.lowercased)
                guard let (name, weight) = Variance.weighted(text) else { continue }
                if name == [0x2A] {
                    others = others ?? weight
                } else if let coding = ServedCoding(token: String(decoding: name, as: UTF8.self)) {
                    named[coding] = named[coding] ?? weight
                }
            }
        }
    }

    /// Thousandths; 0 is not acceptable. `identity`, unless it is named or `*` rules it out, is acceptable and ranks
    /// below all codings that are named.
    package func weight(of coding: ServedCoding) -> Int {
        if let weight = named[coding] { return weight }
        if coding == .identity { return others == 0 ? 0 : 1 }
        return others ?? 0
    }
}
