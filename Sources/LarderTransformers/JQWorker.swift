// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderIO
import Synchronization

/// The process that runs one jq program for the daemon: `larder jq-worker`.
///
/// It reads the program, then values, from its standard input, and answers each on its standard output. It ends with
/// its input. Its memory is limited, and when a value takes too long the kernel ends it: neither a program nor a
/// response can harm the daemon.
package enum JQWorker {
    /// The argument that makes `larder` a worker. The time limit in seconds and the memory limit in bytes follow.
    package static let argument = "jq-worker"

    private static let isPossibleHere = Atomic(false)

    /// Declares that this program becomes a worker when it is started with `argument`, so it can start itself.
    package static func announce() { isPossibleHere.store(true, ordering: .relaxed) }

    static var isAnnounced: Bool { isPossibleHere.load(ordering: .relaxed) }

    /// Runs the worker; returns its exit status.
    package static func run(_ arguments: [String]) -> Int32 {
        guard arguments.count == 2, let seconds = UInt32(arguments[0]), let memory = UInt(arguments[1]) else {
            return 64
        }
        guard limit(RLIMIT_CORE, to: 0), isSanitized || limit(RLIMIT_DATA, to: memory) else { return 71 }
        guard let program = read(), program.kind == .program else { return 65 }
        do throws(JQInterpreter.Failure) {
            let interpreter = try JQInterpreter(String(decoding: program.octets, as: UTF8.self))
            guard write(JQFrame(.program)) else { return 0 }
            while let value = read(), value.kind == .value {
                alarm(seconds)
                guard write(answer(interpreter, value.octets)) else { return 0 }
                alarm(0)
            }
        } catch {
            _ = write(JQFrame(.failure, Array(error.message.utf8)))
        }
        return 0
    }

    // The sanitizers reserve more memory than any limit could allow.
    #if SANITIZED
        private static let isSanitized = true
    #else
        private static let isSanitized = false
    #endif

    private static func limit(_ resource: __rlimit_resource, to value: UInt) -> Bool {
        var limit = rlimit(rlim_cur: rlim_t(value), rlim_max: rlim_t(value))
        return setrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0
    }

    private static func answer(_ interpreter: JQInterpreter, _ value: [UInt8]) -> JQFrame {
        do throws(JQInterpreter.Failure) {
            return try interpreter.run(value).map { JQFrame(.value, $0) } ?? JQFrame(.nothing)
        } catch {
            return JQFrame(.failure, Array(error.message.utf8))
        }
    }

    /// nil at the end of the input.
    private static func read() -> JQFrame? {
        guard let head = read(JQFrame.headSize), let length = JQFrame.length(head), let rest = read(length) else {
            return nil
        }
        return JQFrame(head + rest)
    }

    private static func read(_ count: Int) -> [UInt8]? {
        var octets = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = octets.withUnsafeMutableBytes { bytes in
                bytes.baseAddress.map { Glibc.read(0, $0 + filled, count - filled) } ?? 0
            }
            guard got > 0 else { return nil }
            filled += got
        }
        return octets
    }

    private static func write(_ frame: JQFrame) -> Bool {
        BlockingWrite.failure(of: frame.encoded, to: STDOUT_FILENO) == nil
    }
}
