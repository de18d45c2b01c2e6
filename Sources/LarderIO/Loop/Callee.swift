// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc
import Synchronization

/// The object that an event or a timer of a loop calls.
///
/// Another thread may release the last reference just as the loop calls. A plain address would then lead into freed
/// memory, and an unowned reference would end the process; a weak one would slow down every retain of the object.
/// `target` is called on the loop alone, and the object's `deinit` calls `end`.
// @unchecked: the address is not changed, and not followed after `end`.
final class Callee<Target: AnyObject>: @unchecked Sendable {
    private enum State {
        static var idle: UInt8 { 0 }
        /// The object is not freed meanwhile, though its last reference may have gone.
        static var held: UInt8 { 1 }
        static var ended: UInt8 { 2 }
    }

    private let state = Atomic<UInt8>(State.idle)
    private let address: UnsafeMutableRawPointer

    init(_ target: Target) { address = Unmanaged.passUnretained(target).toOpaque() }

    /// The argument that libevent passes back; it may be used for as long as this object lives.
    var argument: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    static func target(of argument: UnsafeMutableRawPointer?) -> Target? {
        guard let argument else { return nil }
        return Unmanaged<Callee<Target>>.fromOpaque(argument).takeUnretainedValue().target()
    }

    /// The object, unless its last reference has gone.
    func target() -> Target? {
        guard state.compareExchange(expected: State.idle, desired: State.held, ordering: .acquiring).exchanged else {
            return nil
        }
        let found = larder_try_retain(address)
        state.store(State.idle, ordering: .releasing)
        return found.map { Unmanaged<Target>.fromOpaque($0).takeRetainedValue() }
    }

    /// To be called where the object's `deinit` runs on another thread than the loop's, before anything else there.
    func end() {
        // The loop holds it for a few instructions.
        while !state.compareExchange(expected: State.idle, desired: State.ended, ordering: .acquiringAndReleasing)
            .exchanged
        {
            sched_yield()
        }
    }
}
