// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderSettings
import LarderUpstream
import Logging

/// Gets a new credential for a service whose origin refused the old one. Confined to its loop.
struct TokenRefresher {
    let context: LoopContext
    let service: RoutedService
    let rule: RefreshRule

    /// Longer responses are not read.
    static let contentLimit = 1 << 20
    /// The time that a refresh may take in all. Every request that needs the credential waits for it.
    static let timeLimit = Duration.seconds(30)

    /// Makes sure that there is a newer credential than the one in `service`: by requesting one, by waiting for a
    /// refresh under way, or because there is one by now. False when there is none.
    func renew() async -> Bool {
        guard let variables = context.configuration.variables else { return false }
        let gate = variables.gate(for: rule.variables, of: service.variables, now: context.now())
        let name = "\(service.name) \(rule.name)"
        while true {
            switch await gate.enter(name, now: context.now(), isOutdated: { hasNewer }) {
            case .done(let isRenewed): return isRenewed || hasNewer
            case .failedLately: return false
            case .again: continue
            case .refresh:
                let outcome = await refresh(variables)
                gate.finish(outcome, now: context.now())
                return outcome == .renewed || hasNewer
            }
        }
    }

    /// True if the credential is for the same user there.
    func isSameOwner(in current: RoutedService) -> Bool {
        current.variables.haveSameOwner(of: rule.variables, as: service.variables)
    }

    /// The variables of the rule by which the refused request was known. Others may be renewed beside them, as a token that
    /// is good for one refresh.
    private var refusedVariables: [String] {
        let used = rule.variables.filter(service.settings.variablesInFields.contains)
        return used.isEmpty ? rule.variables : used
    }

    /// True if the current configuration has another credential.
    private var hasNewer: Bool {
        guard let current,
            current.variables.generation(of: refusedVariables) != service.variables.generation(of: refusedVariables)
        else { return false }
        return refusedVariables.contains { current.variables[$0] != nil }
    }

    private func refresh(_ variables: VariableStore) async -> RefreshGate.Outcome {
        let (before, names) = (variables.values, rule.variables)
        // A configuration that was loaded since may speak for somebody else.
        guard before.haveSameOwner(of: names, as: service.variables),
            before.generation(of: refusedVariables) == service.variables.generation(of: refusedVariables),
            !variables.wereRenewedLately(refusedVariables, at: context.now())
        else {
            await variables.changesApply()
            return .dropped
        }
        do {
            let values = try await request(with: before)
            let isRenewed = await variables.renew(values, asOf: before, at: context.now())
            context.proxy.logger.notice(
                isRenewed
                    ? "a credential was renewed"
                    : "a renewed credential was dropped: there is another one, or another user, by now",
                metadata: ["service": "\(service.name)", "variables": "\(rule.variables.joined(separator: " "))"])
            return isRenewed ? .renewed : .dropped
        } catch {
            context.proxy.logger.warning(
                "a credential could not be renewed",
                metadata: ["service": "\(service.name)", "url": "\(rule.url.text)", "error": "\(error)"])
            return .failed
        }
    }

    /// The service in its current configuration; nil when it was removed, or has another base URL.
    var current: RoutedService? { context.current(service) }

    private func request(with values: VariableValues) async throws -> [(name: String, value: Secret)] {
        // The current service has the same user, but values that the request needs may have been renewed since.
        let service = current ?? service
        guard let base = service.base, let uri = rule.url.resolved(below: base) else {
            throw RefreshFailure.unresolvable
        }
        var fields = Fields()
        fields[.host] = uri.authority
        fields[.accept] = "application/json"
        if service.covers(uri) {
            // Like any request to that URL, but without the refused credential.
            service.configuration(for: uri, method: rule.method).apply(to: &fields)
            for name in service.fieldsUsing(rule.variables) { fields.remove(name) }
        }
        let content = rule.content(values)
        if let content { fields[.contentType] = content.type }
        for edit in rule.headers { fields[edit.name] = edit.value?.reveal(values) }
        fields.append(.via, context.via(to: uri))
        var inbound = UpstreamRequest(
            origin: Origin(uri), head: RequestHead(method: rule.method, target: uri.pathAndQuery, fields: fields),
            parent: service.parent(uri))
        inbound.tls = service.tls(for: uri)
        if let content { inbound.content = .octets(ContentChunk(content.octets)) }
        let abort = inbound.abort
        let timer = context.loop.timerHere(after: TokenRefresher.timeLimit) { abort.abort() }
        defer { timer.cancel() }
        do {
            return try await answer(to: inbound)
        } catch {
            throw abort.isAborted ? RefreshFailure.tooSlow : error
        }
    }

    private func answer(to inbound: UpstreamRequest) async throws -> [(name: String, value: Secret)] {
        let response = try await context.send(inbound)
        guard response.head.status.isSuccess else {
            if try await !response.readAhead(upTo: InboundSender.discardLimit) { response.abort() }
            throw RefreshFailure.refused(response.head.status)
        }
        guard try await response.readAhead(upTo: TokenRefresher.contentLimit) else {
            response.abort()
            throw RefreshFailure.tooLarge
        }
        var octets: [UInt8] = []
        while let chunk = try await response.nextChunk() { chunk.withBytes { octets.append(contentsOf: $0) } }
        return try rule.values(in: octets).get()
    }
}
