// SPDX-License-Identifier: Apache-2.0

/// The order in which passwords are compared: clients alternate, so that a client that tries many passwords delays the
/// others by one comparison each. Bounded in all, and for each client.
struct CheckQueue<Client: Hashable & Sendable, Item: Sendable>: Sendable {
    private var waiting: [Client: [Item]] = [:]
    /// Clients with something that waits, the next one first.
    private var turns: [Client] = []
    private(set) var count = 0
    private(set) var running = 0
    private let threads: Int
    private let limit: Int
    private let clientLimit: Int

    /// - Parameters:
    ///   - threads: how many comparisons may run at once.
    ///   - limit: how many may wait.
    ///   - clientLimit: how many of one client may wait.
    init(threads: Int, limit: Int, clientLimit: Int) {
        self.threads = threads
        self.limit = limit
        self.clientLimit = clientLimit
    }

    /// False when there is no room.
    mutating func add(_ item: Item, of client: Client) -> Bool {
        let own = waiting[client]?.count ?? 0
        guard count < limit, own < clientLimit else { return false }
        if own == 0 { turns.append(client) }
        waiting[client, default: []].append(item)
        count += 1
        return true
    }

    /// Removes the newest item of the client with the most items, for the first item of `client`. Nil if the queue is
    /// not full, `client` waits already, or no client has more than one item.
    mutating func makeRoom(for client: Client) -> Item? {
        guard count >= limit, waiting[client] == nil,
            let (greedy, items) = waiting.max(by: { $0.value.count < $1.value.count }), items.count > 1
        else { return nil }
        count -= 1
        return waiting[greedy]?.popLast()
    }

    /// The next to be begun; nil when none waits, or enough are running. `ended` must follow.
    mutating func next() -> (client: Client, item: Item)? {
        guard running < threads, let client = turns.first, var items = waiting[client], !items.isEmpty else {
            return nil
        }
        turns.removeFirst()
        let item = items.removeFirst()
        waiting[client] = items.isEmpty ? nil : items
        if !items.isEmpty { turns.append(client) }
        count -= 1
        running += 1
        return (client, item)
    }

    mutating func ended() { running -= 1 }
}
