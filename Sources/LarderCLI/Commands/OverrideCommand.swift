// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder
import LarderHTTP
import LarderProxy
import LarderSettings

/// `larder override`
struct OverrideCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "override", abstract: "Have clients get content of your own for a URL.",
        discussion: """
            The content comes from FILE, or from standard input. Clients get it with `detail=override` in \
            Cache-Status until it is stale, a load or a write succeeds, it is wiped or invalidated, or the daemon \
            ends: it is in memory only. The responses stored for the URL are removed.
            """)

    @Argument(help: ArgumentHelp("The URL.", valueName: "url"))
    var url: String

    @Argument(help: ArgumentHelp("The content; `-` is standard input (the default).", valueName: "file"))
    var file: String?

    @Option(help: ArgumentHelp("Its media type (default: by the file's name, else by its look).", valueName: "type"))
    var type: String?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("How long it lasts, as `10 min` (default: expirationTime, else 30 s).", valueName: "time"))
    var lifetime: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp(
            "A field that tells whose resource is meant, where a service tells clients apart.", valueName: "name: value"
        ))
    var headers: [String] = []

    @OptionGroup var client: ClientOptions

    func validate() throws {
        if let type, MediaType(type) == nil {
            throw ValidationError("found --type \(type); expected one like application/json")
        }
        // Check the daemon's bounds here, to report a mistake before the content is read.
        guard let lifetime else { return }
        do throws(Override.NotALifetime) {
            _ = try Override.lifetime(lifetime)
        } catch {
            throw ValidationError(
                "found --for \(Outline.printable(lifetime)); expected \(Override.NotALifetime.expected)"
                    + (error.suggestion.map { "; did you mean '\($0)'?" } ?? ", as '10 min'"))
        }
    }

    func run() throws {
        let isInput = file == nil || file == "-"
        let content =
            isInput
            ? try NamedFile.input("the content", limit: OverrideCommand.limit)
            : try NamedFile.read(file ?? "", limit: OverrideCommand.limit)
        let type = type.flatMap { MediaType($0) } ?? GuessedType.of(content, named: isInput ? "" : file ?? "")
        try client.perform(
            .put, "/-/resource",
            [("url", Diagnosis.meantURL(url))]
                + (lifetime.map { [("for", $0)] } ?? []) + headers.map { ("header", $0) },
            content: content, type: type, text: Outline.text)
    }

    /// The daemon's limit.
    private static let limit = 1 << 20
}

/// Guesses the media type of content without one.
enum GuessedType {
    /// By the extension of the file; else JSON or text if it is that.
    static func of(_ content: [UInt8], named name: String) -> MediaType? {
        let end = name.split(separator: "/").last?.split(separator: ".").dropFirst().last?.lowercased() ?? ""
        if let known = types[end] { return MediaType(known) }
        if (try? JSONValue(parsing: content)) != nil { return MediaType("application/json") }
        let isText = String(validating: content, as: UTF8.self) != nil && !content.contains(0)
        return MediaType(isText ? "text/plain; charset=utf-8" : "application/octet-stream")
    }

    private static let types = [
        "json": "application/json", "txt": "text/plain; charset=utf-8", "html": "text/html; charset=utf-8",
        "xml": "application/xml", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "csv": "text/csv; charset=utf-8", "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg",
        "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp", "pdf": "application/pdf",
    ]
}
