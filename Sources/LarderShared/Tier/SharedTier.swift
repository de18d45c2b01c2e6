// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
package import LarderIO
import LarderStores

/// A loop's view of the shared tier: it finds entities, reads their content, and keeps other daemons from asking the
/// origin for a response that this daemon fetches. Confined to that loop.
package final class SharedTier {
    package let state: SharedState
    let engine: Engine
    let loop: EventLoop
    /// The time limit of each question.
    let timeout: Duration
    private let leasesChanged: (Bool) -> Void
    /// Writes resume at this instant, after the engine refused one. In monotonic nanoseconds.
    private var writesFrom = Int64.min

    /// How long a lease lasts at most, and how long others wait for its end.
    private static let leaseTime = Duration.seconds(5)
    private static let noteTime = Duration.seconds(120)
    package static let waitLimit = Duration.seconds(2)
    /// Room for writes that are sent at once.
    static let writeTime = Duration.seconds(2)
    /// How long writes pause after a refusal.
    private static let writePause = Duration.seconds(1)

    /// - Parameter leasesChanged: called when leases are no longer used, and when they are used again.
    package init(
        _ state: SharedState, on loop: EventLoop, through engine: Engine,
        leasesChanged: @escaping (_ areUsed: Bool) -> Void = { _ in }
    ) {
        self.state = state
        self.leasesChanged = leasesChanged
        self.loop = loop
        self.engine = engine
        timeout = engine.settings.timeout
    }

    package func close() { engine.close() }

    // MARK: Looking up

    /// Looks a URL up; nil where the tier cannot be asked, or does not answer in time.
    package func look(_ key: SharedKey) async -> SharedLook? {
        guard state.followsLog(at: loop.monotonicHere()), engine.isUsable(for: state.keys.index(key)) else {
            return nil
        }
        guard let look = await ask(key, until: engine.instant(after: timeout)) else {
            state.counters.add(.unanswered)
            return nil
        }
        state.counters.add(look.entities.isEmpty ? .missed : .found)
        return look
    }

    private func ask(_ key: SharedKey, until deadline: Int64) async -> SharedLook? {
        // Before the question, as the answer may be older than the engine's confirmation; and after it.
        guard !state.isBeingInvalidated(key) else { return nil }
        let look = await askEngine(key, until: deadline)
        return state.isBeingInvalidated(key) ? nil : look
    }

    private func askEngine(_ key: SharedKey, until deadline: Int64) async -> SharedLook? {
        let own: [SharedScope] = [.everything, .service(name: key.service, base: key.base)]
        let unknown = state.unknown(own, at: loop.monotonicHere())
        let asked = state.mark
        let outcomes = await engine.perform(
            [state.keys.readWithLease(key)] + unknown.flatMap { beginning(of: $0) }, until: deadline)
        guard case .success(let reply) = outcomes[0], let raw = SharedLook.Raw(reply) else { return nil }
        for (number, scope) in unknown.enumerated() { learn(outcomes[2 + 2 * number], scope, asked) }
        guard let scopes = state.all(own, at: loop.monotonicHere()) else { return nil }
        let opened = raw.index.entries.compactMap { state.entities.decode($0, under: key) }
        state.counters.add(.rejected, raw.index.entries.count - opened.count)
        // Entries of an older generation of the URL are skipped.
        let current = opened.filter {
            $0.generations.url == raw.generation && (key.owner.isEmpty || raw.generation != nil)
        }
        await learn(current.flatMap { $0.entity.scopes(of: key) }, until: deadline)
        let now = loop.monotonicHere()
        let valid = current.filter { state.all($0.entity.scopes(of: key), at: now) == $0.generations.scopes }
        return SharedLook(
            key: key, entities: valid.map(\.entity), lease: raw.lease, index: raw.index, generation: raw.generation,
            scopes: scopes, mark: asked)
    }

    /// Makes sure that a scope has a generation, and reads it.
    private func beginning(of scope: SharedScope) -> [Command] {
        [state.keys.begin(.random(), of: scope), state.keys.read(scope)]
    }

    private func learn(_ outcome: EngineOutcome, _ scope: SharedScope, _ asked: UInt64) {
        guard case .success(let reply) = outcome, let generation = reply.octets.flatMap(Generation.init) else { return }
        state.learn(generation, of: scope, asked: asked, at: loop.monotonicHere())
    }

    /// Asks for the generations that are not known yet.
    private func learn(_ scopes: [SharedScope], until deadline: Int64) async {
        let unknown = Array(Set(state.unknown(scopes, at: loop.monotonicHere())))
        guard !unknown.isEmpty else { return }
        let asked = state.mark
        let outcomes = await engine.perform(unknown.map { state.keys.read($0) }, until: deadline)
        for (scope, outcome) in zip(unknown, outcomes) { learn(outcome, scope, asked) }
    }

    private static let entityLimit = 48 << 10

    var mayWrite: Bool { loop.monotonicHere() >= writesFrom }

    /// Performs a command that changes something.
    func change(_ command: Command, until deadline: Int64) async -> EngineOutcome {
        await change([command], until: deadline)[0]
    }

    /// The same for several, which are sent together.
    private func change(_ commands: [Command], until deadline: Int64) async -> [EngineOutcome] {
        let outcomes = await engine.perform(commands, until: deadline)
        for case .failure(.refused(let refusal)) in outcomes
        where refusal.kind == .unwritable || refusal.kind == .forbidden {
            writesFrom = engine.instant(after: SharedTier.writePause)
        }
        return outcomes
    }

    // MARK: Leases

    /// The result of asking whether this daemon is the one to ask the origin.
    package enum Turn: Sendable {
        /// The origin is to be asked. The token is to be given back.
        case mine(SharedLook, LeaseToken?)
        /// Another daemon has asked meanwhile.
        case found(SharedLook)
    }

    /// Takes the lease of a URL, or waits for the daemon that has it.
    ///
    /// - Parameter isEnough: whether the result answers the request.
    package func takeTurn(after look: SharedLook, isEnough: (SharedLook) -> Bool) async -> Turn {
        if look.lease == .pointless { return .mine(look, nil) }
        let begun = loop.monotonicHere()
        guard usesLeases else {
            state.counters.add(.unawaited)
            return .mine(look, nil)
        }
        let turn = await wait(from: look, isEnough)
        let now = loop.monotonicHere()
        switch turn {
        case .found:
            state.counters.add(.awaited)
            state.leasePaidOff()
        case .mine:
            let waited = Duration.nanoseconds(now.subtractingReportingOverflow(begun).partialValue)
            if state.leaseWaitedInVain(for: waited, at: now) { leasesChanged(false) }
        }
        return turn
    }

    /// Not after waits that were in vain.
    private var usesLeases: Bool {
        let (isUsed, isChanged) = state.useLeases(at: loop.monotonicHere())
        if isChanged { leasesChanged(true) }
        return isUsed
    }

    private func wait(from look: SharedLook, _ isEnough: (SharedLook) -> Bool) async -> Turn {
        var look = look
        var pause = Duration.milliseconds(10)
        let end = engine.instant(after: SharedTier.waitLimit)
        while true {
            switch look.lease {
            case .pointless: return .mine(look, nil)
            case .free where !mayWrite: return .mine(look, nil)
            case .free:
                let token = LeaseToken.random()
                let outcome = await change(
                    state.keys.take(token, for: SharedTier.milliseconds(SharedTier.leaseTime), look.key),
                    until: engine.instant(after: timeout))
                switch outcome {
                case .success(.status): return .mine(look, token)
                case .success(.null): break
                default: return .mine(look, nil)
                }
            case .taken: break
            }
            // Another request may have found out meanwhile that it is not worth it.
            guard usesLeases, engine.instant(after: pause) < end else {
                state.counters.add(.awaitedInVain)
                return .mine(look, nil)
            }
            await loop.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(200))
            guard let next = await self.ask(look.key, until: engine.instant(after: timeout)) else {
                return .mine(look, nil)
            }
            look = next
            if isEnough(look) { return .found(look) }
        }
    }

    /// Gives a lease back, so that others ask the origin themselves.
    package func release(_ token: LeaseToken?, _ key: SharedKey) async {
        guard let token else { return }
        _ = await engine.perform(state.keys.release(token, key), until: engine.instant(after: .seconds(1)))
    }

    /// Records that the response is not shared: other daemons need not wait for another response soon.
    package func note(_ token: LeaseToken?, _ key: SharedKey) async {
        guard let token else { return }
        let time = SharedTier.milliseconds(SharedTier.noteTime)
        _ = await engine.perform(state.keys.note(token, for: time, key), until: engine.instant(after: .seconds(1)))
    }

    private static func milliseconds(_ duration: Duration) -> Int { Int(duration.components.seconds) * 1000 }

    // MARK: Writing

    /// Writes an entity, whose content is there already but for `pieces`, unless the URL was invalidated since `look`.
    /// True if it is there now. The lease, if there is one, is given back in any case.
    package func write(
        _ entity: SharedEntity, _ pieces: [SharedContent.Piece], after look: SharedLook,
        releasing token: LeaseToken? = nil
    ) async -> Bool {
        var token = token
        let isWritten = await write(entity, pieces, after: look, &token)
        await release(token, look.key)
        return isWritten
    }

    private func write(
        _ entity: SharedEntity, _ pieces: [SharedContent.Piece], after look: SharedLook, _ token: inout LeaseToken?
    ) async -> Bool {
        let deadline = engine.instant(after: SharedTier.writeTime)
        guard mayWrite, case .some(let generation) = await urlGeneration(of: look, until: deadline),
            let generations = await generations(of: entity, in: generation, after: look, until: deadline),
            await write(pieces, until: deadline)
        else { return false }
        let sealed = state.entities.encode(entity, under: look.key, in: generations)
        // All variants together fit into a reply.
        guard sealed.count <= SharedTier.entityLimit else { return false }
        var index = look.index
        // Other daemons may add variants at the same time.
        for _ in 0..<4 {
            guard !isOutdone(entity, generations, by: index, look.key) else { return false }
            let next = index.adding(sealed) { isReplaced($0, by: entity, generations, look.key) }
            // Daemons that wait for the lease then find the entity, so both are sent together.
            let commands =
                [state.keys.write(next, over: index, in: generation, look.key)]
                + (token.map { [state.keys.release($0, look.key)] } ?? [])
            token = nil
            guard case .success(.integer(let written)) = await change(commands, until: deadline)[0] else {
                return false
            }
            if written == 1 { return true }
            let reply = await engine.perform(state.keys.readWithLease(look.key), until: deadline)
            guard case .success(let parts) = reply, let raw = SharedLook.Raw(parts), raw.generation == generation
            else { return false }
            index = raw.index
        }
        return false
    }

    /// True if an entry is replaced: it has the same variant, does not verify, or is of another generation.
    private func isReplaced(
        _ entry: [UInt8], by entity: SharedEntity, _ generations: EntityGenerations, _ key: SharedKey
    ) -> Bool {
        guard let other = state.entities.decode(entry, under: key) else { return true }
        return other.entity.variant == entity.variant || other.generations.url != generations.url
    }

    /// True if another daemon has written a better entity for the same requests: a newer one, or the whole of which
    /// `entity` is a part.
    private func isOutdone(
        _ entity: SharedEntity, _ generations: EntityGenerations, by index: SharedIndex, _ key: SharedKey
    ) -> Bool {
        index.entries.contains { entry in
            guard let other = state.entities.decode(entry, under: key), other.generations == generations,
                other.entity.variant == entity.variant
            else { return false }
            return other.entity.responseTime > entity.responseTime || entity.isPart && !other.entity.isPart
        }
    }

    /// The generations that `entity` belongs to: as of the look-up, and for groups, which are known since the response,
    /// as of now, unless one may have been invalidated since the look-up.
    private func generations(
        of entity: SharedEntity, in generation: Generation?, after look: SharedLook, until deadline: Int64
    ) async -> EntityGenerations? {
        let groups = Array(entity.scopes(of: look.key).dropFirst(2))
        let unknown = state.unknown(groups, at: loop.monotonicHere())
        if !unknown.isEmpty {
            let asked = state.mark
            let outcomes = await engine.perform(unknown.flatMap { beginning(of: $0) }, until: deadline)
            for (number, scope) in unknown.enumerated() { learn(outcomes[2 * number + 1], scope, asked) }
        }
        guard let known = state.all(groups, at: loop.monotonicHere()), groups.isEmpty || state.mark == look.mark
        else { return nil }
        return EntityGenerations(url: generation, scopes: look.scopes + known)
    }

    /// The generation of the URL as of the look-up; `.none` when nothing can be written now.
    ///
    /// An invalidation removes the index of all users, and cannot know the indexes of single users. Those need a
    /// generation: without one they are invalid, also if the engine has evicted it.
    private func urlGeneration(of look: SharedLook, until deadline: Int64) async -> Generation?? {
        if look.generation != nil || look.key.owner.isEmpty { return .some(look.generation) }
        let begun = Generation.random()
        // A generation that exists by now may come from an invalidation.
        guard case .success(.status) = await change(state.keys.begin(begun, of: look.key), until: deadline) else {
            return .none
        }
        return .some(begun)
    }
}
