// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderIO
import Testing

@testable import LarderShared

/// A real engine on a Unix socket in a directory of its own, ended when it is released.
// @unchecked: nobody uses the process between `init` and `deinit`.
final class RedisServer: @unchecked Sendable {
    static let path: String? = ["/usr/bin/valkey-server", "/usr/bin/redis-server"].first { (path: String) in
        access(path, X_OK) == 0
    }

    private let directory = FreshDirectory()
    private let process: ChildProcess
    let node: EngineNode

    init(_ arguments: [String] = []) throws {
        let socket = directory.path + "/s"
        node = .unix(path: socket)
        process = try ChildProcess(
            path: try #require(RedisServer.path),
            arguments: [
                "--port", "0", "--unixsocket", socket, "--save", "", "--dir", directory.path, "--logfile", "/dev/null",
            ] + arguments, environment: [])
    }
}
