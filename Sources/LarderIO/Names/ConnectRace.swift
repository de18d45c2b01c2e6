// SPDX-License-Identifier: Apache-2.0

/// Decides when each of a host's addresses is tried, and which one wins: RFC 8305 §5.
///
/// Addresses are tried in turn, each after a pause or as soon as an earlier one has failed, without cancelling the
/// attempts under way.
struct ConnectRace {
    enum Action: Equatable {
        /// Start connecting to the address with this index.
        case dial(Int)
        /// Call `pauseEnded` after the usual pause, instead of any pause running.
        case pause
        /// The address with this index has won; close all others.
        case win(Int)
        /// All have failed.
        case fail(IOError)
    }

    let addresses: [SocketAddress]
    private var next = 0
    private var underWay: Set<Int> = []
    private var failures: [IOError] = []
    private var isOver = false

    /// - Parameter addresses: in order of preference, not empty.
    init(_ addresses: [SocketAddress]) { self.addresses = Self.interleaved(addresses) }

    mutating func start() -> [Action] { dialNext() }

    mutating func pauseEnded() -> [Action] { isOver ? [] : dialNext() }

    mutating func failed(_ index: Int, with error: IOError) -> [Action] {
        guard !isOver, underWay.remove(index) != nil else { return [] }
        failures.append(error)
        if next < addresses.count { return dialNext() }
        guard underWay.isEmpty else { return [] }
        isOver = true
        return [.fail(summary())]
    }

    mutating func connected(_ index: Int) -> [Action] {
        guard !isOver, underWay.contains(index) else { return [] }
        isOver = true
        return [.win(index)]
    }

    private mutating func dialNext() -> [Action] {
        guard next < addresses.count else { return [] }
        defer { next += 1 }
        underWay.insert(next)
        return next + 1 < addresses.count ? [.dial(next), .pause] : [.dial(next)]
    }

    /// An answer from the host is more informative than the lack of a route to another of its addresses.
    private func summary() -> IOError {
        guard let telling = failures.first(where: { $0.code != .unreachable }) ?? failures.first else {
            return IOError(.unreachable, operation: "connect", detail: "there is no address to connect to")
        }
        guard failures.count > 1 else { return telling }
        let others = failures.filter { $0 != telling }.map(\.description).joined(separator: "; ")
        return IOError(
            telling.code, errno: telling.errno, operation: telling.operation,
            detail: others.isEmpty ? telling.detail : "\(telling.detail); also \(others)")
    }

    /// Alternates the families, beginning with the first address's (RFC 8305 §4).
    static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let first = addresses.first else { return [] }
        let preferred = addresses.filter { $0.family == first.family }
        let others = addresses.filter { $0.family != first.family }
        var result: [SocketAddress] = []
        for index in 0..<max(preferred.count, others.count) {
            if index < preferred.count { result.append(preferred[index]) }
            if index < others.count { result.append(others[index]) }
        }
        return result
    }
}
