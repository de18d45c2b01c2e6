// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// An idle connection at rest: a watched socket, and the client's identity.
///
/// Its task, with the memory that the deepest call so far needed, and its exchange, with the room that the longest head
/// so far needed, would be three quarters of its memory. Idle connections release both after a moment; busy connections
/// keep theirs.
extension DownstreamConnection {
    /// Ends the waiting task; `serve` then returns false.
    func goToRest() {
        guard isWaiting, isIdle, buffer.isEmpty else { return }
        shallRest = true
        stream.interruptWaits()
    }

    /// Releases everything only a served connection needs, and calls `wake` when there is input. False when there is
    /// input now.
    func rest(_ wake: @escaping (_ hasInput: Bool) -> Void) -> Bool {
        shallRest = false
        // Holds: the connection owns the stream, which makes no calls when it is closed or gone.
        let rests = stream.watch { [unowned self] hasInput in
            stopWaiting()
            wake(hasInput)
        }
        if rests { startResting() }
        return rests
    }
}

/// The connections of a loop that may soon be idle.
struct RestList {
    private var connections: [DownstreamConnection] = []

    /// How many are put to rest at once: each is a task that runs to its end.
    private static let limit = 256

    var isEmpty: Bool { connections.isEmpty }

    mutating func append(_ connection: DownstreamConnection) {
        connection.isListed = true
        connection.wasActive = true
        connections.append(connection)
    }

    /// Removes the connections that were idle since the last call, up to a number, and the closed ones.
    mutating func takeIdle() -> [DownstreamConnection] {
        var idle: [DownstreamConnection] = []
        connections.removeAll { connection in
            guard connection.stream.isOpen else { return true }
            if connection.wasActive || !connection.isWaiting || idle.count == RestList.limit {
                connection.wasActive = false
                return false
            }
            connection.isListed = false
            idle.append(connection)
            return true
        }
        return idle
    }
}
