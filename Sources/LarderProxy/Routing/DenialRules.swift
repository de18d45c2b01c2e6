// SPDX-License-Identifier: Apache-2.0

import Larder
package import LarderHTTP
import LarderSettings

/// The refusals of a service's blocks, for every URL that an origin may take the requested one for.
///
/// Patterns and URLs are compared as their most lenient readers take them (`PlainPath`), and methods without regard to
/// case, as some origins do. HEAD is refused where GET is, unless a block names it.
struct DenialRules: Sendable {
    private struct Rule {
        let methods: Set<String>?
        let matches: @Sendable (ResourceURL) -> Bool
        let settings: DecoratorSettings

        func applies(to method: LarderHTTP.Method) -> Bool {
            guard let methods else { return true }
            let token = method.token.uppercased()
            return methods.contains(token) || token == "HEAD" && methods.contains("GET")
        }
    }

    private let rules: [Rule]

    /// Nil if no block refuses requests.
    init?(_ blocks: [ConfigureBlock], relativeTo base: TargetURI?) {
        guard blocks.contains(where: { $0.decorate.deny?.value != nil }) else { return nil }
        rules = blocks.filter { $0.decorate.deny != nil || $0.decorate.respond != nil }.map { block in
            Rule(
                methods: block.methods.map { Set($0.map { $0.token.uppercased() }) },
                matches: block.pattern.plainlyWritten.predicate(relativeTo: base), settings: block.decorate)
        }
    }

    /// The rule by which a URL is refused.
    func refusal(of reading: TargetURI, method: LarderHTTP.Method) -> DenyRule? {
        let url = ResourceURL(reading)
        var decorators = Decorators()
        for rule in rules where rule.applies(to: method) && rule.matches(url) { decorators.apply(rule.settings) }
        guard case .refusal(let rule, _) = decorators.answer else { return nil }
        return rule
    }
}

extension BlockPattern {
    /// The pattern with its paths as `PlainPath` writes them.
    fileprivate var plainlyWritten: BlockPattern {
        var pattern = self
        pattern.match = match?.plainlyWritten
        pattern.except = except?.plainlyWritten
        pattern.url = url.map { $0.readings(below: nil).first ?? $0 }
        return pattern
    }
}

extension ServiceTable {
    /// The configured answer to a request, before any lookup. One that is refused is refused in every spelling that an
    /// origin may take for it, also where the plain spelling belongs to another service.
    ///
    /// - Parameter configuration: of the service, the URL and the method.
    package func hardWiredAnswer(
        to url: TargetURI, method: LarderHTTP.Method, of service: RoutedService, _ configuration: EffectiveConfiguration
    ) -> HardWiredAnswer? {
        if let answer = configuration.decorators?.answer { return answer }
        guard hasDenials else { return nil }
        for reading in url.readings(below: service.covers(url) ? service.base : nil) {
            let owner = claiming(reading)
            for rules in [service.denials, owner === service ? nil : owner?.denials].compactMap(\.self) {
                guard let rule = rules.refusal(of: reading, method: method) else { continue }
                return .refusal(rule, reading: reading == url ? nil : reading.string)
            }
        }
        return nil
    }

    /// The configured answer to a load that has no client.
    func hardWiredAnswer(toLoadOf url: TargetURI, of service: RoutedService) -> HardWiredAnswer? {
        hardWiredAnswer(to: url, method: .get, of: service, service.configuration(for: url, method: .get))
    }
}
