// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// A program that runs beside this one, with pipes to its input, output and errors.
///
/// The child has its own process group, which is killed with all descendants when the child is ended or released. It
/// belongs to one thread at a time, which `exchange` and `end` block.
package final class ChildProcess {
    /// How a process ended.
    package enum Ending: Hashable, Sendable, CustomStringConvertible {
        case exited(Int32)
        case killed(signal: Int32)

        package var description: String {
            switch self {
            case .exited(let status): "exit status \(status)"
            case .killed(let signal): "signal \(signal)"
            }
        }
    }

    /// How an exchange with a child ended.
    package enum Outcome: Hashable, Sendable {
        /// The expected output is complete.
        case complete
        /// The child closed its output, or ended.
        case closed
        /// The output is larger than allowed.
        case tooLarge
        case timedOut
    }

    private let process: pid_t
    /// Becomes readable when the process ends.
    private let ending: Descriptor
    private var input: Descriptor?
    private let output: Descriptor
    private let errors: Descriptor?
    private var ended: Ending?
    /// The beginning of what the child wrote to its standard error.
    package private(set) var complaint: [UInt8] = []

    private static let complaintLimit = 4_096
    /// The children that run, or have ended and still have their number.
    private static let running = Lock<Set<pid_t>>([])

    /// Starts the program at `path`, which is an absolute path. `arguments` do not contain the program's name;
    /// `environment` is all of its environment, as `NAME=value`.
    package init(
        path: String, arguments: [String], environment: [String], readsComplaints: Bool = true
    ) throws(IOError) {
        ChildProcess.ignoreBrokenPipes
        let (childInput, input) = try Descriptor.pipe()
        let (output, childOutput) = try Descriptor.pipe()
        let (errors, childErrors) = try readsComplaints ? Descriptor.pipe() : (nil, Descriptor.nowhere())
        try input.stopBlocking()
        try output.stopBlocking()
        try errors?.stopBlocking()
        var pidfd: Int32 = -1
        let result = ChildProcess.withCStrings([path] + arguments) { arguments in
            ChildProcess.withCStrings(environment) { environment in
                larder_spawn(
                    path, arguments, environment, childInput.number, childOutput.number, childErrors.number, &pidfd)
            }
        }
        guard result > 0 else { throw IOError(errno: -result, operation: "start \(path)") }
        process = result
        ChildProcess.running.withLock { _ = $0.insert(result) }
        ending = Descriptor(pidfd)
        self.input = input
        self.output = output
        self.errors = errors
    }

    deinit { _ = end() }

    /// True if the process has ended.
    package var hasEnded: Bool {
        if ended != nil { return true }
        var item = pollfd(fd: ending.number, events: Int16(POLLIN), revents: 0)
        return poll(&item, 1, 0) > 0
    }

    /// Writes `text` to the child while reading its output, until `isComplete` returns true for it, the child closes
    /// its output, the output is longer than `limit` bytes, or the deadline has passed.
    ///
    /// With `closingInput` the child sees the end of its input behind `text`. A child need not read all of its input.
    package func exchange(
        _ text: [UInt8], closingInput: Bool, into result: inout [UInt8], limit: Int,
        until deadline: ContinuousClock.Instant, isComplete: ([UInt8]) -> Bool = { _ in false }
    ) throws(IOError) -> Outcome {
        var offset = 0
        var isErrorsOpen = errors != nil
        var isRunning = true
        while true {
            if offset == text.count, closingInput { input = nil }
            let isWriting = input != nil && offset < text.count
            var items = [
                pollfd(fd: output.number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isRunning ? ending.number : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isErrorsOpen ? errors?.number ?? -1 : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isWriting ? input?.number ?? -1 : -1, events: Int16(POLLOUT), revents: 0),
            ]
            guard let wait = deadline.millisecondsLeft else { return .timedOut }
            if poll(&items, nfds_t(items.count), wait) < 0, errno != EINTR {
                throw IOError(errno: errno, operation: "wait for a child process")
            }
            if items[2].revents != 0 { isErrorsOpen = readComplaint() }
            if items[0].revents != 0 {
                let isOpen = try read(into: &result, limit: limit)
                if result.count > limit { return .tooLarge }
                if isComplete(result) { return .complete }
                if !isOpen { return finish(isErrorsOpen, until: deadline) ? .closed : .timedOut }
            } else if items[1].revents != 0 {
                // Remaining descendants are killed, so that the end of the output comes.
                kill(-process, SIGKILL)
                isRunning = false
            }
            if items[3].revents != 0 { try write(text, from: &offset) }
        }
    }

    /// Kills all children and their descendants. This process is about to end, and could not kill them later.
    package static func killAll() {
        running.withLock { for process in $0 { kill(-process, SIGKILL) } }
    }

    /// Kills the process and its descendants, unless the process has already ended, and returns how it ended.
    @discardableResult
    package func end() -> Ending {
        if let ended { return ended }
        ChildProcess.running.withLock { _ = $0.remove(process) }
        kill(-process, SIGKILL)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        let ending: Ending = signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal)
        ended = ending
        return ending
    }

    /// Waits for the end of a process that has closed its output, and reads the rest of its standard error. False when
    /// the deadline passes first.
    private func finish(_ isErrorsOpen: Bool, until deadline: ContinuousClock.Instant) -> Bool {
        input = nil
        while let wait = deadline.millisecondsLeft {
            var item = pollfd(fd: ending.number, events: Int16(POLLIN), revents: 0)
            guard poll(&item, 1, wait) > 0 else { continue }
            if isErrorsOpen { _ = readComplaint() }
            return true
        }
        return false
    }

    /// False at the end of the output.
    private func read(into result: inout [UInt8], limit: Int) throws(IOError) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while result.count <= limit {
            let count = Glibc.read(output.number, &buffer, buffer.count)
            if count == 0 { return false }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN { return true }
                throw IOError(errno: errno, operation: "read from a child process")
            }
            result.append(contentsOf: buffer[..<count])
            if count < buffer.count { return true }
        }
        return true
    }

    private func write(_ text: [UInt8], from offset: inout Int) throws(IOError) {
        guard let input else { return }
        let count = text.withUnsafeBytes { text in
            Glibc.write(input.number, text.baseAddress.map { $0 + offset }, text.count - offset)
        }
        if count >= 0 {
            offset += count
        } else if errno == EPIPE {
            offset = text.count
            self.input = nil
        } else if errno != EAGAIN, errno != EINTR {
            throw IOError(errno: errno, operation: "write to a child process")
        }
    }

    /// False at the end.
    private func readComplaint() -> Bool {
        guard let errors else { return false }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = Glibc.read(errors.number, &buffer, buffer.count)
        if count > 0 {
            complaint.append(contentsOf: buffer[..<min(count, ChildProcess.complaintLimit - complaint.count)])
        }
        return count > 0 || count < 0 && (errno == EAGAIN || errno == EINTR)
    }

    /// A child that does not read must not end this process; children get the default action, as programs expect.
    private static let ignoreBrokenPipes: Void = { signal(SIGPIPE, SIG_IGN) }()

    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers = strings.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        // Holds: there is a last pointer, which is nil, so the array is not empty.
        return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
    }
}

extension ContinuousClock.Instant {
    /// The timeout for `poll`, at least 1; nil when there is no time left.
    fileprivate var millisecondsLeft: Int32? {
        let left = ContinuousClock.now.duration(to: self)
        guard left > .zero else { return nil }
        return Int32(
            clamping: left.components.seconds * 1_000 + left.components.attoseconds / 1_000_000_000_000_000 + 1)
    }
}

/// A file descriptor, closed when it is released.
private final class Descriptor {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { close(number) }

    static func pipe() throws(IOError) -> (reading: Descriptor, writing: Descriptor) {
        var numbers: [Int32] = [-1, -1]
        guard larder_pipe(&numbers) == 0 else { throw IOError(errno: errno, operation: "make a pipe") }
        return (Descriptor(numbers[0]), Descriptor(numbers[1]))
    }

    static func nowhere() throws(IOError) -> Descriptor {
        let number = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard number >= 0 else { throw IOError(errno: errno, operation: "open /dev/null") }
        return Descriptor(number)
    }

    func stopBlocking() throws(IOError) {
        guard fcntl(number, F_SETFL, O_NONBLOCK) == 0 else {
            throw IOError(errno: errno, operation: "make a pipe ready")
        }
    }
}
