// SPDX-License-Identifier: Apache-2.0

/// How many attempts a client has: some at once, and one more after each interval.
///
/// For each client there is one number: when it may try as many as at first again. Clients are bounded in number; when
/// there are too many, those are forgotten that tried least.
struct AttemptLimit<Client: Hashable & Sendable>: Sendable {
    private var recovered: [Client: Int64] = [:]
    private let burst: Int64
    private let interval: Int64
    private let clientLimit: Int

    /// - Parameters:
    ///   - burst: how many at once.
    ///   - interval: in nanoseconds.
    init(burst: Int, interval: Int64, clients clientLimit: Int = 4_096) {
        self.burst = Int64(burst)
        self.interval = interval
        self.clientLimit = clientLimit
    }

    var clientCount: Int { recovered.count }

    /// How long the client has to wait for its next attempt, in nanoseconds; nil when it need not.
    ///
    /// - Parameter now: in monotonic nanoseconds.
    func wait(of client: Client, at now: Int64) -> Int64? {
        guard let time = recovered[client] else { return nil }
        let wait = time - now - (burst - 1) * interval
        return wait > 0 ? wait : nil
    }

    /// Counts an attempt. Returns whether it was the last for now.
    mutating func charge(_ client: Client, at now: Int64) -> Bool {
        if recovered[client] == nil, recovered.count >= clientLimit {
            recovered.makeRoom(at: now, limit: clientLimit) { $0 }
        }
        recovered[client] = max(recovered[client] ?? now, now) + interval
        return wait(of: client, at: now) != nil
    }

    /// Removes an attempt from the count.
    mutating func refund(_ client: Client, at now: Int64) {
        guard let time = recovered[client] else { return }
        recovered[client] = time - interval > now ? time - interval : nil
    }
}
