// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO
import LarderProxy
import LarderStores
import LarderUpstream

/// Why the daemon could not start, as the command reports it.
enum StartFailure {
    static func explained(_ error: any Error) -> any Error {
        switch error {
        case let error as StoreError where error.code == .unusableDirectory && !error.message.contains("cache.path"):
            CommandFailure(
                "the cache cannot be opened: \(sentence(error.message))",
                advice: error.message.contains(String(cString: strerror(EROFS)))
                    ? "its file system is read-only: make it writable, or name a directory elsewhere in `cache.path`"
                    : "give this user the directory, or name another one in `cache.path`")
        case let error as StoreError: CommandFailure(sentence(error.message))
        case let error as IOError: explained(error)
        default: error
        }
    }

    private static func explained(_ error: IOError) -> CommandFailure {
        let problem = "cannot \(error.operation): \(error.detail.isEmpty ? error.code.description : error.detail)"
        guard error.operation.hasPrefix("listen on"), !error.operation.contains("unix:") else {
            return CommandFailure(problem)
        }
        switch error.code {
        case .addressInUse:
            let port = error.operation.split(separator: ":").last.flatMap { UInt16($0) } ?? 3128
            return inUse(port, problem, error.operation)
        case .unreachable:
            return CommandFailure(problem, advice: "this machine has no such address; change `listen`")
        default:
            return CommandFailure(problem)
        }
    }

    /// Another process listens on the port: after the package's installation, its service.
    private static func inUse(_ port: UInt16, _ problem: String, _ operation: String) -> CommandFailure {
        let elsewhere = "listen on another port: `--set 'listen=[\"127.0.0.1:\(port < 65_535 ? port + 1 : 3128)\"]'`"
        guard let version = RunningDaemon.version(at: TCPPlace(host: "localhost", port: port)) else {
            return CommandFailure(
                // Without its advice, which the one here says more exactly.
                String(problem.prefix { $0 != ";" }),
                advice: "`ss -ltnp 'sport = :\(port)'` names who listens there; stop that, or \(elsewhere)")
        }
        let isService = access(DefaultPaths.systemSocket, F_OK) == 0
        return CommandFailure(
            "cannot \(operation): Larder \(version) runs there already",
            advice: isService
                ? "the system's service reads /etc/larder/larder.yaml (`sudo larder reload` after a change); for a daemon of "
                    + "your own stop it (`sudo systemctl stop larder.socket larder.service`), or \(elsewhere)"
                : "stop that one, or \(elsewhere)")
    }

    /// A sentence to follow `Error: `.
    private static func sentence(_ text: String) -> String {
        text.hasSuffix(".") ? String(text.dropLast()) : text
    }
}
