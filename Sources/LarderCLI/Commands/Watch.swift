// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Larder
import LarderHTTP

/// `larder watch`
struct Watch: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Tell what happens to resources, as it happens.",
        discussion: """
            A text with a * is a pattern as in a configure block: /users/*, https://api.github.com/**. Everything else \
            is the URL of one resource, whose loads go on while it is watched. First comes what is there, then every \
            load and every change of the content, with the state after it. An invalidation changes no content and is not \
            told; the next load is. When the daemon goes away, it is looked for again for a minute. Ends \
            with Ctrl-C.
            """)

    @Argument(help: ArgumentHelp("A URL or a pattern (default: everything).", valueName: "url or pattern"))
    var subject: String?

    @Flag(help: "Load the resource first, unless it is up to date.")
    var load = false

    @Flag(
        help:
            "Tell of requests too, with what became of them, and not of what is there at first; of many hits in a second only some are told."
    )
    var requests = false

    @OptionGroup var client: ClientOptions

    private var isMany: Bool { subject?.contains("*") ?? true }

    func validate() throws {
        if load, isMany { throw ValidationError("--load is about one resource; name its URL") }
    }

    func run() throws {
        // This command ends by an interrupt.
        signal(SIGINT) { _ in _exit(0) }
        var parameters =
            subject.map {
                isMany ? [(name: "match", value: $0)] : [(name: "url", value: Diagnosis.meantURL($0))]
            }
            ?? []
        if load { parameters.append(("loadIfNeeded", "1")) }
        if requests { parameters.append(("requests", "1")) }
        let target = AdminClient.target("/-/events", parameters)
        let admin = try client.adminClient()
        tellOfMount()
        let style = client.style
        var reconnecting = Reconnecting()
        while true {
            do {
                try admin.follow(target) { event in
                    reconnecting.hears()
                    Terminal.write(client.json ? event + "\n" : try EventLines.text(event, style, listsAll: !requests))
                    return true
                }
            } catch StreamEnd.refused(let failure) {
                throw failure
            } catch StreamEnd.broken(let failure) {
                guard let pause = reconnecting.pause() else { throw failure }
                if reconnecting.isFirst { Terminal.writeError("larder: \(failure.problem); looking for it again") }
                sleep(UInt32(pause))
            }
        }
    }

    /// A pattern that begins with a service's mount, and matches nothing, will most likely match nothing ever.
    private func tellOfMount() {
        guard isMany, let subject, let hint = client.hint(about: subject),
            let answer = try? client.answer(.get, "/-/resources", [("match", subject), ("limit", "1")]),
            answer["resources"]?.array?.isEmpty == true
        else { return }
        Terminal.writeError("larder: \(hint)")
    }
}
