// SPDX-License-Identifier: Apache-2.0

/// The limits of clients' attempts to log in, with the outcomes of recent attempts.
///
/// Attempts are limited for each client and name, so that a client that guesses one user's password keeps no other user
/// of the same address from being served. Comparisons in vain are limited for each client besides, against lists of
/// names. An attempt counts before its outcome is known, once for the same credentials, and not at all if they are
/// right: so a program that goes on sending an old password uses up one attempt.
///
/// All tables are bounded.
struct LoginAttempts<Client: Hashable & Sendable, Name: Hashable & Sendable, Digest: Hashable & Sendable>: Sendable {
    struct Attempt: Hashable, Sendable {
        let client: Client
        let name: Name
        /// The digest of name and password, and of the user table they are compared with.
        let credentials: Digest
    }

    /// How many at once, and after how many nanoseconds one more.
    struct Rate: Sendable {
        var burst: Int
        var interval: Int64
    }

    enum Verdict: Sendable, Equatable {
        /// They may be compared, if the client is not delayed.
        case untested
        case knownWrong
        /// Nothing may be looked up for the client and the name for so many nanoseconds.
        case tooOften(Int64)
    }

    private struct Login: Hashable, Sendable {
        let client: Client
        let name: Name
    }

    private var logins: AttemptLimit<Login>
    private var clients: AttemptLimit<Client>
    /// Attempts that have counted, and are not compared yet.
    private var counted: RecentKeys<Attempt>
    private var wrong: RecentKeys<Attempt>

    /// - Parameters:
    ///   - lifetime: how long a wrong one is known as such, in nanoseconds.
    ///   - limit: how many entries each table has.
    init(names: Rate, clients: Rate, lifetime: Int64, limit: Int = 4_096) {
        logins = AttemptLimit(burst: names.burst, interval: names.interval, clients: limit)
        self.clients = AttemptLimit(burst: clients.burst, interval: clients.interval, clients: limit)
        counted = RecentKeys(limit: limit, lifetime: lifetime)
        wrong = RecentKeys(limit: limit, lifetime: lifetime)
    }

    /// The largest number of entries of a table.
    var largestCount: Int { max(logins.clientCount, clients.clientCount, counted.count, wrong.count) }

    /// How long nothing may be looked up for the client and the name; nil when it may be. To be asked first: even that
    /// something is remembered as right is an answer.
    func wait(of attempt: Attempt, at now: Int64) -> Int64? { logins.wait(of: login(attempt), at: now) }

    /// How long the client has to wait for its next comparison; nil when it need not.
    func delay(of client: Client, at now: Int64) -> Int64? { clients.wait(of: client, at: now) }

    /// Counts an attempt with credentials that are not remembered as right.
    mutating func begin(_ attempt: Attempt, at now: Int64) -> Verdict {
        if let wait = wait(of: attempt, at: now) { return .tooOften(wait) }
        if wrong.contains(attempt, at: now) { return .knownWrong }
        if !counted.contains(attempt, at: now) {
            _ = logins.charge(login(attempt), at: now)
            counted.insert(attempt, at: now)
        }
        return .untested
    }

    /// The credentials were right: the attempt does not count.
    mutating func wasRight(_ attempt: Attempt, at now: Int64) {
        wrong.remove(attempt)
        if counted.remove(attempt) { logins.refund(login(attempt), at: now) }
    }

    /// The credentials were wrong. Returns whether it was the last attempt for now.
    ///
    /// - Parameter isCompared: true if they were compared for this client, not for another that had sent them.
    mutating func wasWrong(_ attempt: Attempt, isCompared: Bool, at now: Int64) -> Bool {
        counted.remove(attempt)
        wrong.insert(attempt, at: now)
        if isCompared { _ = clients.charge(attempt.client, at: now) }
        return wait(of: attempt, at: now) != nil
    }

    private func login(_ attempt: Attempt) -> Login { Login(client: attempt.client, name: attempt.name) }
}

/// Keys of recent events. Bounded: when it is full, the older half is removed, so that this happens rarely.
struct RecentKeys<Key: Hashable & Sendable>: Sendable {
    private var until: [Key: Int64] = [:]
    private let limit: Int
    private let lifetime: Int64

    /// - Parameter lifetime: in nanoseconds.
    init(limit: Int, lifetime: Int64) {
        self.limit = limit
        self.lifetime = lifetime
    }

    var count: Int { until.count }

    /// - Parameter now: in monotonic nanoseconds.
    func contains(_ key: Key, at now: Int64) -> Bool { until[key].map { now < $0 } ?? false }

    mutating func insert(_ key: Key, at now: Int64) {
        if until[key] == nil, until.count >= limit { until.makeRoom(at: now, limit: limit) { $0 } }
        until[key] = now + lifetime
    }

    /// Returns whether it was there.
    @discardableResult
    mutating func remove(_ key: Key) -> Bool { until.removeValue(forKey: key) != nil }
}

extension Dictionary {
    /// Makes room in a table of `limit` entries with a limited life: expired entries are removed or, if there are none,
    /// the half that expires first, so that this happens rarely.
    ///
    /// - Parameters:
    ///   - now: in monotonic nanoseconds.
    ///   - end: until when a value counts.
    mutating func makeRoom(at now: Int64, limit: Int, until end: (Value) -> Int64) {
        self = filter { now < end($0.value) }
        guard count >= limit else { return }
        let kept = sorted { end($0.value) > end($1.value) }.prefix(limit / 2)
        self = Dictionary(kept.map { ($0.key, $0.value) }) { first, _ in first }
    }
}
