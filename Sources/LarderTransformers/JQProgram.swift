// SPDX-License-Identifier: Apache-2.0
import Glibc
package import Larder
import LarderIO

/// Why jq returned no new content.
package struct JQFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Reason: Hashable, Sendable {
        /// The program does not compile; with jq's message.
        case program(String)
        /// The program failed on this content; with jq's message.
        case content(String)
        case timedOut(Duration)
        /// The maximum number of processes was busy all the time.
        case busy(Duration)
        case tooLarge(limit: Int)
        /// The worker ended: it ran out of memory, or jq crashed.
        case ended(String)
        /// No worker could be started.
        case notStarted(String)
    }

    package let reason: Reason

    init(_ reason: Reason) { self.reason = reason }

    package var description: String {
        switch reason {
        case .program(let message): "the jq program is wrong: \(message)"
        case .content(let message): "jq: \(message)"
        case .timedOut(let limit): "jq took longer than \(limit)"
        case .busy(let limit): "too many of this jq program were running for \(limit)"
        case .tooLarge(let limit): "jq gave more than the \(limit) octets allowed"
        case .ended(let how): "jq broke off with \(how)"
        case .notStarted(let detail): "jq could not be started: \(detail)"
        }
    }
}

/// A compiled jq program, and the processes that run it.
///
/// A process runs one value after the other; there are as many as concurrent transformations, up to `concurrency`, and
/// they live as long as the program.
package final class JQProgram: Sendable {
    package let text: String
    /// The time limit for one value. Then the process is killed; the next value gets a new one.
    package let timeout: Duration

    /// The most concurrent transformations. Others wait, as long as theirs may take.
    package static let concurrency = 4
    /// The memory limit of a process.
    package static let memoryLimit = 1 << 30
    package static let usualTimeout: Duration = .seconds(10)

    /// The threads that run transformations with this program.
    let threads: TransformerThreads

    /// Limits concurrency, as a response that passes several programs runs on the threads of the first.
    private let slots = Slots(JQProgram.concurrency)
    private let idle = Lock<[Worker]>([])

    /// Compiles the program, which takes some tens of milliseconds.
    package init(_ text: String, timeout: Duration = JQProgram.usualTimeout) throws(JQFailure) {
        self.text = text
        self.timeout = timeout
        let own = PassingThreads(name: "larder-jq", limit: JQProgram.concurrency)
        threads = TransformerThreads { own.submit($0) }
        let worker = try Worker(text, timeout: timeout)
        idle.withLock { $0.append(worker) }
    }

    /// The program's output for JSON; nil when there is none. At the deadline its process is killed too, with
    /// `TransformerTimedOut` as the error; all others are a `JQFailure`.
    package func run(_ input: [UInt8], limit: Int, until deadline: TransformDeadline? = nil) throws -> [UInt8]? {
        let wait = ProgramLimit(timeout, until: deadline)
        guard slots.take(within: wait.left) else { throw wait.error(JQFailure(.busy(timeout))) }
        defer { slots.giveBack() }
        let worker = if let waiting = waiting() { waiting } else { try Worker(text, timeout: timeout) }
        let time = ProgramLimit(timeout, until: deadline)
        guard let answer = try worker.ask(JQFrame(.value, input), limit: limit, until: time.end) else {
            throw time.error(JQFailure(.timedOut(timeout)))
        }
        // Workers are reused only after a proper answer; others end when they are released.
        idle.withLock { $0.append(worker) }
        switch answer.kind {
        case .value: return answer.octets
        case .nothing: return nil
        case .program, .failure: throw JQFailure(.content(String(decoding: answer.octets, as: UTF8.self)))
        }
    }
}

extension JQProgram {
    /// An idle process. Those that have ended meanwhile are dropped.
    private func waiting() -> Worker? {
        while let worker = idle.withLock({ $0.popLast() }) {
            if !worker.hasEnded { return worker }
        }
        return nil
    }
}

/// A process that runs one jq program.
// @unchecked: only the caller that took it out of `JQProgram.idle` uses it.
private final class Worker: @unchecked Sendable {
    private let process: ChildProcess

    var hasEnded: Bool { process.hasEnded }

    init(_ program: String, timeout: Duration) throws(JQFailure) {
        // A second more than the daemon's own timeout: it takes effect only when the daemon is gone.
        let seconds = timeout.components.seconds + 2
        do throws(IOError) {
            process = try ChildProcess(
                path: try Worker.executable.get(),
                arguments: [JQWorker.argument, String(seconds), String(JQProgram.memoryLimit)],
                environment: ChildEnvironment.usual.filter { !$0.hasPrefix("HOME=") }, readsComplaints: false)
        } catch {
            throw JQFailure(.notStarted(error.detail))
        }
        let time = JQProgram.usualTimeout
        guard let answer = try ask(JQFrame(.program, Array(program.utf8)), limit: 65_536, until: .now + time) else {
            throw JQFailure(.timedOut(time))
        }
        guard answer.kind == .program else {
            throw JQFailure(.program(String(decoding: answer.octets, as: UTF8.self)))
        }
    }

    /// Nil when there is no answer by then.
    func ask(
        _ question: JQFrame, limit: Int, until end: ContinuousClock.Instant
    ) throws(JQFailure) -> JQFrame? {
        var octets: [UInt8] = []
        let outcome: ChildProcess.Outcome
        do throws(IOError) {
            outcome = try process.exchange(
                question.encoded, closingInput: false, into: &octets, limit: limit + JQFrame.headSize,
                until: end, isComplete: JQFrame.isWhole)
        } catch {
            throw JQFailure(.ended(error.detail))
        }
        switch outcome {
        case .complete:
            guard let answer = JQFrame(octets) else { throw JQFailure(.ended("an answer that makes no sense")) }
            return answer
        case .closed: throw JQFailure(.ended(process.end().description))
        case .tooLarge: throw JQFailure(.tooLarge(limit: limit))
        case .timedOut: return nil
        }
    }

    /// The path of this program if it can be a worker, under any name; else of the program `larder` beside it, for
    /// other programs of the same build.
    private static let executable: Result<String, IOError> = {
        if JQWorker.isAnnounced { return .success("/proc/self/exe") }
        var buffer = [CChar](repeating: 0, count: 4_097)
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        guard count > 0 else { return .failure(IOError(errno: errno, operation: "find the program larder")) }
        let path = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let name = path[(path.lastIndex(of: "/") ?? path.startIndex)...].dropFirst()
        return .success(path.dropLast(name.count) + "larder")
    }()
}
