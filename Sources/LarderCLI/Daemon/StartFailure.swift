// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderProxy
import LarderStores

/// Why the daemon could not start, as the command reports it.
enum StartFailure {
    static func explained(_ error: any Error) -> any Error {
        switch error {
        case let error as StoreError where error.code == .unusableDirectory && !error.message.contains("cache.path"):
            CommandFailure(
                "the cache cannot be opened: \(sentence(error.message))",
                advice: "give this user the directory, or name another one in `cache.path`")
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
            let port = error.operation.split(separator: ":").last.map(String.init) ?? "3128"
            return CommandFailure(
                problem, advice: "`ss -ltnp 'sport = :\(port)'` names who listens there; perhaps another Larder")
        case .unreachable:
            return CommandFailure(problem, advice: "this machine has no such address; change `listen`")
        default:
            return CommandFailure(problem)
        }
    }

    /// A sentence to follow `Error: `.
    private static func sentence(_ text: String) -> String {
        text.hasSuffix(".") ? String(text.dropLast()) : text
    }
}
