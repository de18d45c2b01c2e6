// SPDX-License-Identifier: Apache-2.0

import Glibc

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

    /// Has this process ignore signals; returns those that it did not ignore before. A shell has jobs in the background
    /// ignore the terminal's, and that must go on for their commands.
    static func ignore(_ signals: [Int32]) -> [Int32] {
        signals.filter { number in
            let former = signal(number, SIG_IGN)
            return unsafeBitCast(former, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self)
        }
    }
}
