// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderSettings
import LarderTransformers
import LarderUpstream

/// One change, told to one listener.
enum ChangeDelivery {
    /// How long a program or a webhook may take.
    private static let patience = Duration.seconds(30)
    /// Longer output and responses are not read.
    private static let answerLimit = 64 << 10

    /// The webhook did not accept the change.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs a program, with the change on its standard input.
    static func run(_ command: [String], _ change: ContentChange, on pool: WorkerPool) async throws {
        var exec = ExecCommand(command)
        exec.timeout = patience
        let program = ExecProgram(exec)
        let input = Array(change.json.utf8)
        _ = try await pool.run { try program.run(input, limit: answerLimit) }
    }

    /// Sends the change to a URL: neither through the cache nor as a request to an origin, so that it is not counted and
    /// starts no backoff. `Via` ends a loop where the URL leads to this Larder.
    static func post(_ change: ContentChange, to url: String, from context: LoopContext) async throws {
        guard let uri = try? TargetURI(url) else { throw Refusal(description: "its URL cannot be used") }
        let fields: Fields = [
            "Host": uri.authority, "User-Agent": "Larder/\(LarderVersion.current)", "Accept": "*/*",
            "Content-Type": "application/json", "Via": context.via(to: uri),
        ]
        var request = UpstreamRequest(
            origin: Origin(uri), head: RequestHead(method: .post, target: uri.pathAndQuery, fields: fields),
            parent: context.configuration.router.table.unclaimed.parent(uri))
        request.content = .octets(ContentChunk(Array(change.json.utf8)))
        let abort = request.abort
        let timer = context.loop.timerHere(after: patience) { abort.abort() }
        defer { timer.cancel() }
        let response = try await context.upstream.send(request)
        if try await !response.readAhead(upTo: answerLimit) { response.abort() }
        guard response.head.status.isSuccess else { throw Refusal(description: "it answered \(response.head.status)") }
    }

    /// A listener as the log names it: the paths of webhooks are often secret.
    static func name(of listener: ChangeListener) -> String {
        switch listener {
        case .program(let command): command.first ?? ""
        case .webhook(let url): (try? TargetURI(url))?.origin ?? "a webhook"
        }
    }
}
