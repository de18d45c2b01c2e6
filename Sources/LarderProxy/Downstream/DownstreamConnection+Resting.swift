// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// An idle connection as it has nothing to do: a socket that is watched, and what is known of the client.
///
/// Its task, with the memory that the deepest call so far needed, and its exchange, with the room that the longest
/// head so far needed, would be three quarters of what it takes. They are let go when nothing came for a moment; who
/// asks often keeps them.
extension DownstreamConnection {
    /// Ends the waiting task; `serve` then returns false.
    func goToRest() {
        guard isWaiting, isIdle, buffer.isEmpty else { return }
        shallRest = true
        stream.interruptWaits()
    }

    /// Lets go of what only a served connection needs, and has `wake` called when it is to be served again. False
    /// when that is now.
    func rest(_ wake: @escaping (_ hasInput: Bool) -> Void) -> Bool {
        shallRest = false
        // Holds: the stream is the connection's own, and calls nobody when it is closed or gone.
        let rests = stream.watch { [unowned self] hasInput in
            stopWaiting()
            wake(hasInput)
        }
        if rests { startResting() }
        return rests
    }
}

/// The connections of a loop of which some may soon have nothing to do.
struct RestList {
    private var connections: [DownstreamConnection] = []

    /// How many go to rest at once: each is a task that runs to its end.
    private static let limit = 256

    var isEmpty: Bool { connections.isEmpty }

    mutating func append(_ connection: DownstreamConnection) {
        connection.isListed = true
        connection.wasActive = true
        connections.append(connection)
    }

    /// Takes out those that did nothing since the last call, up to a number, and those that are closed.
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
