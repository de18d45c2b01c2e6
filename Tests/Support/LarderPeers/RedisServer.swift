// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderIO

/// A real engine on a Unix socket in a directory of its own, ended when it is released.
// @unchecked: nobody uses the process between `init` and `deinit`.
package final class RedisServer: @unchecked Sendable {
    /// The program; nil where there is none.
    package static let path: String? = ["/usr/bin/valkey-server", "/usr/bin/redis-server"].first { (path: String) in
        access(path, X_OK) == 0
    }

    private let directory = FreshDirectory()
    private let process: ChildProcess
    /// The path of its socket.
    package let socket: String

    package init(_ arguments: [String] = []) throws {
        guard let program = RedisServer.path else { throw ScenarioFailure("no redis-server is installed") }
        socket = directory.path + "/s"
        process = try ChildProcess(
            path: program,
            arguments: [
                "--port", "0", "--unixsocket", socket, "--save", "", "--dir", directory.path, "--logfile", "/dev/null",
            ] + arguments, environment: [])
        // A daemon that came first would try again after a while of its clock, which stands still in tests.
        var patience = 10_000
        while !isListening {
            guard patience > 0 else { throw ScenarioFailure("\(program) does not listen on \(socket)") }
            patience -= 1
            usleep(2_000)
        }
    }

    private var isListening: Bool {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return SocketAddress(unixPath: socket).connect(descriptor) == 0
    }
}
