// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The limit on descriptors of the process. Shells set a low one, for the sake of old programs; the administrator sets
/// the hard limit.
enum OpenFiles {
    /// Raises the limit as far as possible without privileges, and returns it.
    @discardableResult
    static func raiseLimit() -> Int {
        let resource = __rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue))
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 0 }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// Opens nothing in place of standard input, output and error where the parent has closed them: files opened later
    /// would have their numbers, and get what is written to them.
    static func openStandard() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
            // It gets the lowest number that is free.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// A warning when `connections` clients, each with a connection to an origin, need more than `limit`; nil when they
    /// do not.
    static func shortage(limit: Int, connections: Int) -> String? {
        // Listeners, loops, the store and the log need some besides.
        let needed = 2 * connections + 256
        guard limit < needed else { return nil }
        return "at most \(limit) files may be open, fewer than limits.connections may need (\(needed)); "
            + "raise LimitNOFILE or ulimit -n, or lower limits.connections"
    }
}
