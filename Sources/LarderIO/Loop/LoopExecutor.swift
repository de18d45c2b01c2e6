// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc
import Synchronization

/// The implementation of `EventLoop`: one thread, one `event_base`, and the queue of jobs to run between two polls.
///
/// It is the actor's serial executor and at the same time the task executor that every task of the loop prefers. Both
/// are needed: a continuation always resumes on the preferred task executor first, and without one each resumption
/// takes a detour over the global pool.
// @unchecked: `inbox`, `counters`, `thread` and `isStopping` may be used from any thread; everything else belongs to
// the loop's thread (before `start` and after the join, to the only thread that has the object).
final class LoopExecutor: TaskExecutor, SerialExecutor, @unchecked Sendable {
    enum Work {
        case job(UnownedJob)
        case closure(() -> Void)
    }

    private struct Inbox {
        var work: [Work] = []
        /// The wake event was written and has not been handled yet.
        var isSignalled = false
        /// The loop has ended; nothing will run any more.
        var isClosed = false
        var thread: Thread?
    }

    let name: String
    let base: OpaquePointer
    let time: any TimeSource
    let counters = LoopCounters()
    /// Called for internal errors that cost one connection.
    var onFault: ((IOError) -> Void)?
    private let timeIsSystem: Bool
    private let wakeDescriptor: Int32
    private var wakeEvent: OpaquePointer?
    private var timerEvent: OpaquePointer?
    private let inbox = Lock(Inbox())
    private let isStopping = Atomic<Bool>(false)
    private let thread = Atomic<UInt>(0)

    private var ready: [Work] = []
    /// Work that becomes ready after the next poll.
    private var afterPoll: [Work] = []
    private var batch: [Work] = []
    private var timers = TimerQueue<Timer>()
    /// The instant that `timerEvent` is set to, or `.max`.
    private var timerEventDue = Int64.max
    /// A buffer to combine several small writes into one TLS record; used within one call only.
    let recordScratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 16384, alignment: 16)
    /// The clocks as read in this turn, or 0.
    private var cachedNow: Int64 = 0
    private var cachedWallClock: Int64 = 0

    /// Nanoseconds of the processor at a time, where others want it too: the least there is. A loop that has something to
    /// answer does not wait long for a thread that writes or transforms (docs/performance.md).
    private static let slice: UInt = 100_000

    init(name: String, time: any TimeSource) throws(IOError) {
        _ = Self.processIsPrepared
        let operation = "make event loop \(name)"
        guard let config = event_config_new() else { throw IOError(errno: ENOMEM, operation: operation) }
        defer { event_config_free(config) }
        event_config_set_flag(config, Int32(EVENT_BASE_FLAG_NOLOCK.rawValue))
        event_config_require_features(config, Int32(EV_FEATURE_ET.rawValue | EV_FEATURE_EARLY_CLOSE.rawValue))
        guard let base = event_base_new_with_config(config) else { throw IOError(errno: errno, operation: operation) }
        let descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard descriptor >= 0 else {
            let number = errno
            event_base_free(base)
            throw IOError(errno: number, operation: operation)
        }
        self.name = name
        self.base = base
        self.time = time
        timeIsSystem = time is SystemTime
        wakeDescriptor = descriptor
        let this = Unmanaged.passUnretained(self).toOpaque()
        // Edge-triggered, so that each write wakes the loop once and the counter need not be read back.
        wakeEvent = event_new(base, descriptor, Int16(EV_READ | EV_PERSIST | EV_ET), wokenUp, this)
        timerEvent = event_new(base, -1, 0, timerFired, this)
        // A loop that cannot be woken would wait for ever.
        guard event_add(wakeEvent, nil) == 0 else { throw IOError(errno: errno, operation: operation) }
    }

    deinit {
        event_free(wakeEvent)
        event_free(timerEvent)
        event_base_free(base)
        Glibc.close(wakeDescriptor)
        recordScratch.deallocate()
    }

    /// Settings of the whole process, made once.
    ///
    /// OpenSSL writes without MSG_NOSIGNAL: a disconnected peer would otherwise end the process. libevent writes
    /// messages to standard error, such as that a name server has failed; the caller gets an error for that anyway.
    private static let processIsPrepared: Void = {
        signal(SIGPIPE, SIG_IGN)
        event_set_log_callback { severity, message in
            guard severity >= EVENT_LOG_WARN, let message else { return }
            let text = "libevent: \(String(cString: message))\n"
            _ = Glibc.write(STDERR_FILENO, text, text.utf8.count)
        }
    }()

    // MARK: Executor

    func enqueue(_ job: consuming ExecutorJob) { put(.job(UnownedJob(job))) }

    func enqueue(closure: @escaping @Sendable () -> Void) { put(.closure(closure)) }

    /// Runs `closure` on the loop after the current job. Only from the loop.
    func later(_ closure: @escaping () -> Void) {
        checkIsolated()
        ready.append(.closure(closure))
    }

    /// Runs `closure` after the loop has polled once more, and has served what it found. Only from the loop.
    func afterPoll(_ closure: @escaping () -> Void) {
        checkIsolated()
        afterPoll.append(.closure(closure))
    }

    /// Like `enqueue`, but at once on the calling thread if the loop has ended, for the loop's leftovers.
    func enqueueOrRun(_ closure: @escaping @Sendable () -> Void) {
        if !put(.closure(closure)) { closure() }
    }

    // Holds: the compiler lets only the loop's code call this; code that it cannot check says so at the call.
    func checkIsolated() { precondition(isOnThread, "this is to be called on the event loop \(name) only") }

    func isIsolatingCurrentContext() -> Bool? { isOnThread }

    var isOnThread: Bool { thread.load(ordering: .relaxed) == Thread.current }

    /// Queues `work`. False if the loop has ended: then it will not run.
    @discardableResult
    private func put(_ work: Work) -> Bool {
        if isOnThread {
            ready.append(work)
            return true
        }
        let (isTaken, mustWake) = inbox.withLock { inbox in
            guard !inbox.isClosed else { return (false, false) }
            inbox.work.append(work)
            defer { inbox.isSignalled = true }
            return (true, !inbox.isSignalled)
        }
        if mustWake { wake() }
        return isTaken
    }

    private func wake() {
        var one: UInt64 = 1
        // No other thread would wake the loop for this.
        while Glibc.write(wakeDescriptor, &one, 8) < 0, errno == EINTR {}
    }

    /// Moves the jobs of other threads to this turn's work.
    fileprivate func collect() {
        inbox.withLock { inbox in
            inbox.isSignalled = false
            if ready.isEmpty {
                swap(&ready, &inbox.work)
            } else {
                ready.append(contentsOf: inbox.work)
                inbox.work.removeAll(keepingCapacity: true)
            }
        }
    }

    // MARK: Life

    func start() throws(IOError) {
        // The thread's identity is set before anything can query it: nothing runs before `run`.
        let outcome: Result<Void, IOError> = inbox.withLock { inbox in
            guard inbox.thread == nil, !inbox.isClosed else { return .success(()) }
            do throws(IOError) {
                inbox.thread = try Thread.start(name: name) {
                    larder_shorten_slice(LoopExecutor.slice)
                    self.run()
                }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
    }

    /// Asks the loop to end once it has nothing ready to run, and waits for it unless called on it.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        let thread = inbox.withLock { inbox in
            if inbox.thread == nil { inbox.isClosed = true }
            return isOnThread ? nil : inbox.thread.take()
        }
        wake()
        thread?.join()
    }

    /// Ends the loop when its last owner releases it.
    func abandon() {
        stop()
        // Released on its own thread, which cannot wait for itself.
        inbox.withLock { $0.thread.take() }?.detach()
    }

    private func run() {
        thread.store(Thread.current, ordering: .relaxed)
        while true {
            runReady()
            if isStopping.load(ordering: .acquiring), ready.isEmpty {
                collect()
                moveDeferred()
                if ready.isEmpty { break }
                continue
            }
            if counters.isInTurn { counters.turnEnded(at: SystemTime().monotonic()) }
            cachedNow = 0
            cachedWallClock = 0
            let mustNotWait = !ready.isEmpty || !afterPoll.isEmpty
            event_base_loop(base, mustNotWait ? EVLOOP_ONCE | EVLOOP_NONBLOCK : EVLOOP_ONCE)
            moveDeferred()
        }
        let unrun = inbox.withLock { inbox in
            inbox.isClosed = true
            defer { inbox.work = [] }
            return inbox.work
        }
        ready = unrun
        runReady()
        thread.store(0, ordering: .relaxed)
    }

    private func moveDeferred() {
        guard !afterPoll.isEmpty else { return }
        ready.append(contentsOf: afterPoll)
        afterPoll.removeAll(keepingCapacity: true)
    }

    /// Runs the jobs that other threads have submitted so far. To be called by libevent's callbacks only, before they
    /// start something that may have begun later.
    func catchUp() {
        collect()
        runReady()
    }

    /// Runs ready jobs, and the jobs that they make ready, for a few rounds; then the loop polls again.
    private func runReady() {
        guard !ready.isEmpty else { return }
        noteTurn()
        var rounds = 0
        while !ready.isEmpty, rounds < 8 {
            rounds += 1
            swap(&ready, &batch)
            for work in batch {
                switch work {
                case .job(let job):
                    job.runSynchronously(
                        isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
                case .closure(let closure): closure()
                }
            }
            batch.removeAll(keepingCapacity: batch.count <= 4096)
        }
    }

    /// Records that the kernel has woken the loop and a turn is under way. Cheap when that is known.
    func noteTurn() {
        guard !counters.isInTurn else { return }
        counters.turnBegan(at: timeIsSystem ? monotonicNow() : SystemTime().monotonic())
    }

    // MARK: Time

    /// The monotonic clock, read at most once per turn.
    func monotonicNow() -> Int64 {
        if timeIsSystem, cachedNow != 0 { return cachedNow }
        cachedNow = time.monotonic()
        return cachedNow
    }

    /// The wall clock, read at most once per turn.
    func wallClock() -> Int64 {
        if timeIsSystem, cachedWallClock != 0 { return cachedWallClock }
        cachedWallClock = time.now()
        return cachedWallClock
    }

    func arm(_ timer: Timer, at due: Int64) {
        timers.insert(timer, due: due)
        setTimerEvent()
    }

    func disarm(_ timer: Timer) { timers.remove(timer) }

    /// Makes libevent wake the loop no later than the next timer is due.
    ///
    /// An earlier wake-up for a cancelled timer stays: it costs less than moving it each time.
    private func setTimerEvent() {
        guard let due = timers.nextDue, due < timerEventDue else { return }
        timerEventDue = due
        // Rounded up to the kernel's milliseconds; a clock moved by hand announces its jumps, so its distance
        // is only a bound.
        let delay = min(max(0, due &- monotonicNow()), 3_600_000_000_000)
        var interval = timeval(tv_sec: Int(delay / 1_000_000_000), tv_usec: Int(delay % 1_000_000_000 / 1000 + 1))
        if interval.tv_usec >= 1_000_000 { interval.tv_usec = 999_999 }
        event_add(timerEvent, &interval)
    }

    /// Calls the timers that are due. Those armed meanwhile wait for the next call, even if due at once.
    func fireTimers() {
        noteTurn()
        timerEventDue = .max
        cachedNow = 0
        cachedWallClock = 0
        let now = monotonicNow()
        var limit = timers.count
        while limit > 0, let timer = timers.popDue(at: now) {
            limit -= 1
            timer.action()
        }
        setTimerEvent()
    }
}

private func wokenUp(_: Int32, _: Int16, _ argument: UnsafeMutableRawPointer?) {
    guard let argument else { return }
    Unmanaged<LoopExecutor>.fromOpaque(argument).takeUnretainedValue().collect()
}

private func timerFired(_: Int32, _: Int16, _ argument: UnsafeMutableRawPointer?) {
    guard let argument else { return }
    Unmanaged<LoopExecutor>.fromOpaque(argument).takeUnretainedValue().fireTimers()
}
