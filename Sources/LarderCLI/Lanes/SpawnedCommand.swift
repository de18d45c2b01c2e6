// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// Starts programs found in `PATH`, and waits for them.
enum SpawnedCommand {
    /// Starts a command.
    ///
    /// - Parameters:
    ///   - variables: set in its environment in addition to, or instead of, this one's.
    ///   - isSilent: whether its output is discarded; errors are shown.
    ///   - output: where else its output goes.
    ///   - defaults: signals that get their default actions.
    /// - Returns: the process, or the error's number.
    static func start(
        _ command: [String], _ variables: [ProxyVariables.Value] = [], isSilent: Bool = false, output: Int32? = nil,
        defaults: [Int32] = []
    ) -> Result<pid_t, Failure> {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in defaults { sigaddset(&signals, number) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if isSilent { posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) }
        if let output { posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) }
        var environment = ProcessInfo.processInfo.environment
        for variable in variables { environment[variable.name] = variable.value }
        let arguments = pointers(command)
        let pairs = pointers(environment.map { "\($0.key)=\($0.value)" })
        defer {
            for pointer in arguments + pairs { free(pointer) }
        }
        var child: pid_t = 0
        let code = posix_spawnp(&child, command[0], &actions, &attributes, arguments, pairs)
        return code == 0 ? .success(child) : .failure(Failure(code: code))
    }

    struct Failure: Error { let code: Int32 }

    /// Waits for the end of a process, and returns its exit status as a shell would.
    static func wait(for child: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        let number = status & 0x7F
        return number != 0 ? 128 + number : (status >> 8) & 0xFF
    }

    /// Copies as C strings, terminated by nil.
    private static func pointers(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        texts.map { strdup($0) } + [nil]
    }
}

/// The command of a lane, which gets the terminal and the signals as if it had been started directly.
enum LaneProcess {
    /// The process that signals are passed on to; 0 for none.
    // nonisolated(unsafe): this program has one thread by then, and its handlers only read it.
    private nonisolated(unsafe) static var child: pid_t = 0

    /// Runs a command to its end; returns its exit status as a shell would, and whether it could be started.
    static func run(
        _ command: [String], with variables: [ProxyVariables.Value]
    ) -> (status: Int32, hasStarted: Bool) {
        // The terminal's signals are for the command, which this process outlives.
        switch SpawnedCommand.start(command, variables, defaults: ignore([SIGINT, SIGQUIT])) {
        case .failure(let failure):
            Terminal.writeError("larder: cannot run \(command[0]): \(String(cString: strerror(failure.code)))")
            return (failure.code == ENOENT ? 127 : 126, false)
        case .success(let process):
            child = process
            for number in [SIGTERM, SIGHUP] {
                signal(number) { if LaneProcess.child > 0 { _ = kill(LaneProcess.child, $0) } }
            }
            // Its number may soon be another's. The rest is short, and is not left half done.
            defer { child = 0 }
            return (SpawnedCommand.wait(for: process), true)
        }
    }

    /// Makes this process ignore signals; returns the signals that it did not ignore before. A shell lets background
    /// jobs ignore the terminal's signals, and their commands must keep ignoring them.
    static func ignore(_ signals: [Int32]) -> [Int32] {
        signals.filter { number in
            let former = signal(number, SIG_IGN)
            return unsafeBitCast(former, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self)
        }
    }
}
