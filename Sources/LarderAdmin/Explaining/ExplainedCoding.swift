// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules

/// The coding in which a stored response would be sent, where the configuration offers a choice.
struct ExplainedCoding {
    /// The detail in `Cache-Status`; nil for the stored octets.
    let word: String?
    let sentence: String
    let advice: String?
    /// Whether a range would be ignored.
    let ignoresRange: Bool

    /// Nil where every client gets the stored octets.
    init?(_ situation: Situation, _ variant: Variant) {
        guard let recoding = variant.served.recoding else { return nil }
        let decision = recoding.decide(
            situation.request.fields, eTag: variant.served.facts.eTag, length: variant.content.length)
        ignoresRange = decision.ignoresRange
        let asked = situation.request.fields.contains(.acceptEncoding) ? "what it accepts" : "it names no coding"
        guard decision.coding != recoding.stored else {
            word = nil
            sentence = ""
            let offered = recoding.offered.map(\.rawValue).joined(separator: ", ")
            advice =
                recoding.stored == .identity && variant.content.length >= Recoding.shortest
                ? "To get it in a coding (\(offered)): send `Accept-Encoding`; `-H` tries one here." : nil
            return
        }
        word = Rendition.Form.coded(decision.coding).word
        if decision.coding == .identity {
            sentence = " Its \(recoding.stored.rawValue) coding would be undone for this client (\(asked))."
            advice = "To get the octets that came: send `Accept-Encoding: \(recoding.stored.rawValue)`."
        } else {
            sentence = " Its content would go out in \(decision.coding.rawValue), by what the client accepts."
            advice =
                "To get the octets that came: leave \(decision.coding.rawValue) out of `Accept-Encoding`, or take "
                + "`codings` out of the \(situation.service.base == nil ? "configuration" : "configure block")."
        }
    }
}
