// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderStores
import Synchronization

/// The state of the shared tier that all loops of a process have in common.
package final class SharedState: Sendable {
    package let keys: EngineKeys
    package let entities: EntityCoding
    package let messages: MessageCoding
    /// This process among the senders of messages.
    package let sender: [UInt8] = .random16()
    package let counters = SharedCounters()
    private let generations = Lock(KnownGenerations())
    private let outbox = Lock(SharedOutbox())
    private let leases = Lock(LeasePatience())
    private let heardAt = Atomic<Int64>(.min)
    private let seal: Seal

    /// For how long after the last word of the log the tier is asked.
    package static let patience = Duration.seconds(1)

    package init(namespace: String, secret: [UInt8]) {
        let seal = Seal(secret: secret)
        self.seal = seal
        keys = EngineKeys(namespace: namespace)
        entities = EntityCoding(namespace: namespace, seal: seal)
        messages = MessageCoding(namespace: namespace, seal: seal)
    }

    /// The key of one user's responses: equal for an identity at all daemons of the team. Without their secret, the key
    /// reveals nothing about the identity, nor that two URLs have keys of one identity.
    package func own(_ key: SharedKey, of identity: [UInt8]) -> SharedKey {
        var out = OctetWriter(room: identity.count + key.url.count + 128)
        out.append(run: keys.namespace)
        out.append(run: key.service)
        out.append(run: key.base)
        out.append(run: key.url)
        out.append(run: identity)
        return SharedKey(
            service: key.service, base: key.base, url: key.url, owner: seal.code(for: out.octets, as: .owner))
    }

    // MARK: The log

    /// The log was read to its end. Instants are monotonic nanoseconds, the same for all loops.
    package func heardLog(at now: Int64) { heardAt.store(now, ordering: .releasing) }

    package func lostLog() { heardAt.store(.min, ordering: .releasing) }

    /// True if this process knows of all invalidations but the last second's.
    package func followsLog(at now: Int64) -> Bool {
        let heard = heardAt.load(ordering: .acquiring)
        return heard != .min && now <= heard.advanced(by: SharedState.patience)
    }

    // MARK: Leases

    /// `isUsed` is true if leases are used now, `isChanged` if their use has just resumed.
    func useLeases(at now: Int64) -> (isUsed: Bool, isChanged: Bool) {
        leases.withLock { leases in
            let isChanged = leases.resume(at: now)
            return (!leases.rests(at: now), isChanged)
        }
    }

    func leasePaidOff() { leases.withLock { $0.paidOff() } }

    /// True if leases are let alone from now on.
    func leaseWaitedInVain(for time: Duration, at now: Int64) -> Bool {
        leases.withLock { $0.waitedInVain(for: time, at: now) }
    }

    // MARK: Generations

    package var mark: UInt64 { generations.withLock { $0.mark } }

    package func all(_ scopes: [SharedScope], at now: Int64) -> [Generation]? {
        generations.withLock { $0.all(scopes, at: now) }
    }

    package func unknown(_ scopes: [SharedScope], at now: Int64) -> [SharedScope] {
        generations.withLock { $0.unknown(scopes, at: now) }
    }

    package func learn(_ generation: Generation, of scope: SharedScope, asked: UInt64, at now: Int64) {
        // The engine does not have the new one yet.
        guard !outbox.withLock({ $0.contains(scope) }) else { return }
        generations.withLock { _ = $0.learn(generation, of: scope, asked: asked, at: now) }
    }

    package func replace(_ generation: Generation, of scope: SharedScope, at now: Int64) {
        generations.withLock { $0.replace(generation, of: scope, at: now) }
    }

    package func forgetGenerations() { generations.withLock { $0.forgetAll() } }

    // MARK: Invalidations by this process

    /// Takes an invalidation for the log. From now on this process finds nothing that it makes invalid.
    package func post(_ subject: LogMessage.Subject, at now: Int64) {
        let all = outbox.withLock { $0.append(subject) }
        for subject in [subject, all].compactMap(\.self) {
            if let (scope, generation) = subject.scope { replace(generation, of: scope, at: now) }
        }
    }

    package func isBeingInvalidated(_ key: SharedKey) -> Bool { outbox.withLock { $0.contains(key) } }
    package func nextToSend(_ count: Int) -> [SharedOutbox.Item] { outbox.withLock { $0.next(count) } }
    package func confirm(_ items: [SharedOutbox.Item]) {
        // Before it is forgotten, as answers that are under way may be older.
        if items.contains(where: { $0.subject.scope != nil }) { generations.withLock { $0.noteChange() } }
        outbox.withLock { $0.confirm(items) }
    }
    package var isEverythingSent: Bool { outbox.withLock { $0.isEmpty } }
}

/// Events in the tier since the start, counted for all loops.
package final class SharedCounters: Sendable {
    package enum Kind: Int, CaseIterable, Sendable {
        /// Look-ups that found entities, found none, or got no answer.
        case found, missed, unanswered
        /// Entities, pieces or indexes that did not verify.
        case rejected
        case written
        /// Entities that were not written: too much was waiting, the engine refused, or the URL was invalidated.
        case unwritten
        /// Loads that another daemon made unnecessary, and loads that waited in vain.
        case awaited, awaitedInVain
        /// Loads that did not wait, and took no lease, since waits had been in vain.
        case unawaited
        /// Messages of the log that were sent, and messages of other daemons that were obeyed.
        case sent, received
        /// Messages of the log that were in it before, and were not obeyed again.
        case repeated
        /// Breaks of the log after which stored responses count as invalid.
        case gaps
    }

    private let values = Kind.allCases.map { _ in Counter() }

    package init() {}

    package func add(_ kind: Kind, _ count: Int = 1) { values[kind.rawValue].value.add(count, ordering: .relaxed) }
    package subscript(_ kind: Kind) -> Int { values[kind.rawValue].value.load(ordering: .relaxed) }

    private final class Counter: Sendable {
        let value = Atomic<Int>(0)
    }
}

/// Decides if it is worth waiting for the leases of other daemons.
///
/// A client of the engine may keep a lease on each URL, or prevent others from taking one. So after waits in vain for
/// some time, leases are ignored for a while; then one wait decides again. Instants are monotonic nanoseconds.
package struct LeasePatience: Sendable, Equatable {
    /// The total time of waits in vain since the last useful wait.
    private var lost = Duration.zero
    private var restsUntil: Int64?

    /// More than two waits that end with `SharedTier.waitLimit`.
    static let limit = Duration.seconds(5)
    static let rest = Duration.seconds(30)
    /// Waits that are shorter cost little, and responses that are not shared are common.
    static let shortest = Duration.milliseconds(500)

    package init() {}

    package func rests(at now: Int64) -> Bool { restsUntil.map { now < $0 } ?? false }

    /// Leases are about to be used. True if that is the first time after a rest.
    package mutating func resume(at now: Int64) -> Bool {
        guard restsUntil != nil, !rests(at: now) else { return false }
        restsUntil = nil
        return true
    }

    /// A wait ended with a response.
    package mutating func paidOff() { lost = .zero }

    /// A wait ended without. True if a rest begins.
    package mutating func waitedInVain(for time: Duration, at now: Int64) -> Bool {
        guard time >= LeasePatience.shortest, restsUntil == nil else { return false }
        lost += time
        guard lost >= LeasePatience.limit else { return false }
        restsUntil = now.advanced(by: LeasePatience.rest)
        // A single wait in vain is enough next time.
        lost = LeasePatience.limit - LeasePatience.shortest
        return true
    }
}
