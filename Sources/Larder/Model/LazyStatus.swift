// SPDX-License-Identifier: Apache-2.0
import LarderIO
import Synchronization

/// The changeable part of a resource, made when something first changes: a daemon knows a great many resources that
/// are read over HTTP and have no observers, no requests of the library and no content it parsed.
struct LazyStatus: ~Copyable, Sendable {
    private final class Box: Sendable {
        let status = Lock(Resource.Status())
    }

    private let box = AtomicLazyReference<Box>()

    /// Calls `body` with the status while no other thread can.
    func withLock<Result>(_ body: (inout Resource.Status) throws -> Result) rethrows -> Result {
        try (box.load() ?? box.storeIfNil(Box())).status.withLock(body)
    }

    /// Calls `body` with the status as it is, which for a resource nothing happened to is that of a new one.
    func read<Result>(_ body: (Resource.Status) -> Result) -> Result {
        guard let box = box.load() else { return body(Resource.Status()) }
        return box.status.withLock { body($0) }
    }

    /// Whether anything has happened.
    var isMade: Bool { box.load() != nil }
}
