// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO
import LarderProxy
import LarderSettings
import LarderStores
import LarderUpstream

/// Why the daemon could not start, as the command reports it.
enum StartFailure {
    /// - Parameter settings: the settings with which the daemon was to start.
    static func explained(_ error: any Error, _ settings: Settings = Settings()) -> any Error {
        switch error {
        case let error as StoreError where error.code == .unusableDirectory && !error.message.contains("cache.path"):
            CommandFailure("the cache cannot be opened: \(sentence(error.message))", advice: cure(of: error))
        case let error as StoreError: CommandFailure(sentence(error.message))
        case let error as IOError: explained(error, settings)
        default: error
        }
    }

    private static func cure(of error: StoreError) -> String {
        func says(_ number: Int32) -> Bool { error.message.contains(String(cString: strerror(number))) }
        if says(EROFS) {
            return "its file system is read-only: make it writable, or name a directory elsewhere in `cache.path`"
        }
        return says(ENOTDIR)
            ? "`cache.path` is a directory: name another one, or remove the file"
            : "give this user the directory, or name another one in `cache.path`"
    }

    private static func explained(_ error: IOError, _ settings: Settings) -> CommandFailure {
        let problem = "cannot \(error.operation): \(error.detail.isEmpty ? error.code.description : error.detail)"
        guard error.operation.hasPrefix("listen on") else { return CommandFailure(problem) }
        let address = error.operation.dropFirst("listen on ".count)
        if address.hasPrefix("unix:") {
            guard error.code == .addressInUse else { return CommandFailure(problem) }
            let path = address.dropFirst("unix:".count)
            let first =
                error.detail.contains("not a socket")
                ? "remove it" : "`sudo ss -lxp | grep \(path)` names who listens there; stop that"
            return CommandFailure(withoutAdvice(problem), advice: "\(first), or name another path in `admin.socket`")
        }
        let listeners = [("admin.listen", settings.admin.listen), ("tls.listen", settings.tls.listen)]
        let setting = listeners.first { $0.1.contains { "\($0)" == address } }?.0 ?? "listen"
        switch error.code {
        case .addressInUse:
            let port = address.split(separator: ":").last.flatMap { SocketAddress.port($0) } ?? 3128
            return inUse(port, problem, error.operation, setting)
        case .unreachable:
            return CommandFailure(problem, advice: "this machine has no such address; change `\(setting)`")
        default:
            return CommandFailure(problem)
        }
    }

    /// The advice here says more exactly what is to be done.
    private static func withoutAdvice(_ problem: String) -> String { String(problem.prefix { $0 != ";" }) }

    /// Another process listens on the port: after the package's installation, its service.
    private static func inUse(
        _ port: UInt16, _ problem: String, _ operation: String, _ setting: String
    ) -> CommandFailure {
        let elsewhere =
            "listen on another port: `--set '\(setting)=[\"127.0.0.1:\(port < 65_535 ? port + 1 : 3128)\"]'`"
        guard let version = RunningDaemon.version(at: TCPPlace(host: "localhost", port: port)) else {
            return CommandFailure(
                withoutAdvice(problem),
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
