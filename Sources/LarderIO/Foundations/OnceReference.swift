// SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// A reference that is set at most once, by the first of several threads, and read without a lock.
///
/// Like the standard library's `AtomicLazyReference`. That one's `load` is not specialised by the compiler: it takes 760
/// instructions to find out its type, and this one five.
public struct OnceReference<Instance: AnyObject & Sendable>: ~Copyable, Sendable {
    /// The address of the object, which the reference retains; 0 before it is set.
    @usableFromInline let address = Atomic<UInt>(0)

    /// Makes a reference that is not set.
    @inlinable
    public init() {}

    @inlinable
    deinit { OnceReference.object(at: address.load(ordering: .acquiring))?.release() }

    /// The object, once it is set.
    @inlinable
    public func load() -> Instance? {
        OnceReference.object(at: address.load(ordering: .acquiring))?.takeUnretainedValue()
    }

    /// Sets it to `instance` if it is not set; returns what it is set to.
    @inlinable
    public func storeIfNil(_ instance: Instance) -> Instance {
        let mine = Unmanaged.passRetained(instance)
        let (isSet, found) = address.compareExchange(
            expected: 0, desired: UInt(bitPattern: mine.toOpaque()), ordering: .acquiringAndReleasing)
        guard !isSet, let first = OnceReference.object(at: found) else { return instance }
        mine.release()
        return first.takeUnretainedValue()
    }

    @inlinable
    static func object(at address: UInt) -> Unmanaged<Instance>? {
        UnsafeRawPointer(bitPattern: address).map { Unmanaged.fromOpaque($0) }
    }
}
