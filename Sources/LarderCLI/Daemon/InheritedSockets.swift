// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The listening sockets a service manager opened before it started the daemon (sd_listen_fds(3)).
enum InheritedSockets {
    private static let first: Int32 = 3
    /// More than any unit has; a larger number is a mistake.
    private static let limit = 256
    static let variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]

    /// The descriptors passed to `process`; none if the variables name another one, or are malformed.
    static func descriptors(environment: [String: String], process: pid_t = getpid()) -> [Int32] {
        guard let owner = environment["LISTEN_PID"].flatMap({ pid_t($0) }), owner == process,
            let count = environment["LISTEN_FDS"].flatMap({ Int($0) }), (1...limit).contains(count)
        else { return [] }
        return (0..<Int32(count)).map { first + $0 }
    }

    /// Removes the variables from the environment, so that no child process uses the sockets.
    static func forgetVariables() {
        for name in variables { unsetenv(name) }
    }
}
