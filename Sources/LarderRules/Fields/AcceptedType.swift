// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// A media type that a client asks for by its name (RFC 9110 §12.5.1). All forms of JSON (`…/json`, `…+json`) are one, but
/// for that of problems (RFC 9457): to accept those does not mean to want JSON otherwise.
package enum AcceptedType: Sendable, Hashable {
    case json, problem, text, html, openMetrics

    /// - Parameter type: in lower case, without parameters.
    private init?(_ type: String) {
        switch type {
        case "text/plain": self = .text
        case "text/html": self = .html
        case "application/openmetrics-text": self = .openMetrics
        case "application/problem+json": self = .problem
        case let other where other.hasSuffix("/json") || other.hasSuffix("+json"): self = .json
        default: return nil
        }
    }

    /// The one of `order` that the request gives the most weight, and of several the first; nil when it names none of
    /// them. Ranges (`*/*`) and members that do not follow the grammar are not looked at.
    package static func preferred(by request: Fields, inOrder order: [AcceptedType]) -> AcceptedType? {
        var weights: [AcceptedType: Int] = [:]
        request.forEach(.accept) { line in
            for member in line.split(separator: 0x2C) {
                let parts = member.filter { !ASCII.isBlank($0) }.map(ASCII.lowercased).split(separator: 0x3B)
                let given = parts.dropFirst().first { $0.starts(with: "q=".utf8) }
                guard let type = parts.first.flatMap({ AcceptedType(String(decoding: $0, as: UTF8.self)) }),
                    let weight = given.map({ Variance.thousandths(Array($0)) }) ?? 1000
                else { continue }
                weights[type] = max(weights[type] ?? 0, weight)
            }
        }
        let wanted = order.map { weights[$0] ?? 0 }
        guard let most = wanted.max(), most > 0 else { return nil }
        return zip(order, wanted).first { $0.1 == most }?.0
    }
}
