// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// The changeable part of a resource, made when something first changes: a daemon knows a great many resources that
/// are read over HTTP and have no observers, no requests of the library and no content it parsed.
struct LazyStatus: Sendable {
    private final class Box {
        var status = Resource.Status()
    }

    private let box = Lock<Box?>(nil)

    /// Calls `body` with the status while no other thread can.
    func withLock<Result, Failure: Error>(
        _ body: (inout Resource.Status) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try box.withLock { box throws(Failure) in
            let made = box ?? Box()
            box = made
            return try body(&made.status)
        }
    }

    /// Calls `body` with the status as it is, which for a resource nothing happened to is that of a new one.
    func read<Result>(_ body: (Resource.Status) -> Result) -> Result {
        box.withLock { box in body(box?.status ?? Resource.Status()) }
    }

    /// Whether anything has happened.
    var isMade: Bool { box.withLock { $0 != nil } }
}
