// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

/// Lines for a configuration file that change how the request of an explanation is answered, each a whole block to paste.
struct SuggestedBlock {
    private let situation: Situation

    init(_ situation: Situation) { self.situation = situation }

    /// The advice to add a block with `settings` for this URL, as a clause that begins with a verb.
    ///
    /// - Parameter settings: settings of a block in YAML's flow style: `keepFor: 10 min`.
    func adding(_ settings: String) -> String {
        let block = "{ \(condition), \(settings) }"
        guard situation.service.base != nil else {
            return "describe the API as a service, by "
                + "`api: { baseURL: \"\(situation.uri.origin)/\", configure: [ \(block) ] }` under `services`."
        }
        return "add `- \(block)` at the end of `configure` of the service `\(situation.service.name)`."
    }

    /// How to keep a stored response longer than its origin says.
    func keepingLonger(_ stored: StoredResponse) -> String {
        // A lower bound does not apply to errors, unless it names their status.
        guard !stored.status.isError else {
            return "To keep it longer than the origin says: " + adding("keepFor: { \(stored.status.rawValue): 10 min }")
        }
        guard let time = SuggestedBlock.unusedTime(of: stored, situation.policy) else {
            return "To keep it longer than the origin says: " + adding("keepFor: 10 min")
        }
        let line = "keepFor: \(UnitText.write(time))"
        let reason = "`expirationTime: \(UnitText.write(time))` is not used, because the origin names a lifetime. "
        return reason + "To keep it at least so long: "
            + (plainBlock.map { "write `\(line)` in its place, in the block ‘\($0.title)’." } ?? adding(line))
    }

    /// The configured lifetime that `stored` does not have because its origin names a shorter one; nil if there is none.
    static func unusedTime(of stored: StoredResponse, _ policy: CachePolicy) -> Duration? {
        guard [.sMaxage, .maxAge, .expires].contains(stored.facts.lifetime.source), policy.expirationMode == .fallback,
            let time = policy.expirationTime(for: stored.status), time > stored.facts.lifetime.duration
        else { return nil }
        return time
    }

    /// The last block for this URL that sets a lifetime, if it sets one without a mode.
    private var plainBlock: ConfigureBlock? {
        let url = ResourceURL(situation.uri)
        let last = situation.service.settings.configure.last { block in
            block.expirationTime?.time != nil && block.methods?.contains(situation.configuredMethod) ?? true
                && block.pattern.predicate(relativeTo: situation.service.base)(url)
        }
        return last?.expirationMode == nil ? last : nil
    }

    /// The condition of a block for this URL alone.
    private var condition: String {
        let path = situation.uri.pathAndQuery.prefix { $0 != "?" }
        let base = situation.service.base
        let root = base?.pathAndQuery ?? "/"
        let isPattern = path.utf8.contains { "*?[\\#".utf8.contains($0) }
        guard base?.origin ?? situation.uri.origin == situation.uri.origin, path.hasPrefix(root), !isPattern else {
            return "url: \"\(situation.uri.string)\""
        }
        let relative = "/" + path.dropFirst(root.hasSuffix("/") ? root.utf8.count : root.utf8.count + 1)
        let isPlain = relative.utf8.allSatisfy { ASCII.isAlpha($0) || ASCII.isDigit($0) || "/-_.~%+".utf8.contains($0) }
        return "match: " + (isPlain ? relative : "\"\(relative)\"")
    }
}
