// SPDX-License-Identifier: Apache-2.0
import CLibevent

extension ByteStream {
    /// Makes reads and writes that are pending, or begin to wait later, fail with `.timedOut` once `duration` has
    /// passed; nil removes the deadline. Moving it costs a store.
    package func setDeadline(after duration: Duration?) {
        setDeadline(at: duration.map { executor.monotonicNow().advanced(by: $0) } ?? .max)
    }

    /// Sets both deadlines at an instant in monotonic nanoseconds of the loop's clock; `.max` is never.
    package func setDeadline(at instant: Int64) {
        deadlines.set(at: instant)
        armDeadline(for: instant)
    }

    /// Sets the deadline of reads alone; writes keep theirs.
    package func setReadDeadline(after duration: Duration?) {
        deadlines.setRead(at: duration.map { executor.monotonicNow().advanced(by: $0) } ?? .max)
        armDeadline(for: deadlines.read)
    }

    /// Sets the deadline of writes alone; reads keep theirs. It begins anew if the peer takes bytes before it passes: a
    /// slow peer that keeps taking bytes does not refuse them.
    package func setWriteDeadline(after duration: Duration?) {
        deadlines.setWrite(after: duration, now: executor.monotonicNow())
        armDeadline(for: deadlines.write)
    }

    /// Sets both deadlines for an idle connection. They begin anew as long as the peer takes bytes that the kernel
    /// holds for it: a slow peer is not idle before it has taken all of them.
    package func setIdleDeadline(after duration: Duration?) {
        let now = executor.monotonicNow()
        deadlines.setIdle(after: duration, now: now)
        armDeadline(for: deadlines.next(after: now))
    }

    /// A writer got rid of something.
    func renewDeadlines() {
        guard deadlines.isPatient else { return }
        let now = executor.monotonicNow()
        deadlines.moved(now: now)
        partner?.deadlines.putOff(now: now)
    }

    /// A writer that waits hears of what the peer takes only when much of the kernel's memory for it is free again.
    func noteUntaken() {
        if deadlines.isPatient { deadlines.beganToWait(untaken: larder_unconfirmed(descriptor)) }
    }

    /// Postpones the deadlines of this stream, and of the other end of a tunnel, if the peer has taken bytes.
    private func look(now: Int64) {
        guard isOpen, deadlines.wantsLook(now: now),
            deadlines.looked(untaken: larder_unconfirmed(descriptor), now: now)
        else { return }
        partner?.deadlines.putOff(now: now)
    }

    private func armDeadline(for instant: Int64) {
        guard isOpen, instant != .max else { return }
        // One timer for the stream's life, moved only to an earlier instant: when it fires too early it is set again. A
        // deadline that moves with every request does not touch the timer.
        if deadlineTimerDue <= instant { return }
        let timer = deadlineTimer ?? deadlineTimer(calling: reachable())
        deadlineTimer = timer
        deadlineTimerDue = instant
        timer.arm(at: instant)
    }

    private func deadlineTimer(calling callee: Callee<ByteStream>) -> Timer {
        Timer(on: executor) { callee.target()?.deadlineTimerFired() }
    }

    private func deadlineTimerFired() {
        deadlineTimerDue = .max
        let now = executor.monotonicNow()
        look(now: now)
        if deadlines.read <= now || deadlines.write <= now { partner?.look(now: now) }
        let (isReadDue, isWriteDue) = (deadlines.read <= now, deadlines.write <= now)
        armDeadline(for: deadlines.next(after: now))
        if isReadDue { endReading(.timedOut) }
        if isWriteDue { endWriting(.timedOut) }
    }
}
