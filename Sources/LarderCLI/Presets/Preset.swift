// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderSettings

/// The settings of a popular service: a YAML file embedded in the program.
struct Preset {
    /// The place of the service's own credential.
    struct TokenPlace {
        let field: String
        /// The prefix of the credential, as `Bearer`.
        let scheme: String?
    }

    let name: String
    let version: Int
    /// Its purpose, in a sentence.
    let about: String
    /// The programs that use it, as docs/presets.md names them.
    let clients: String
    /// Other names by which people look for it.
    let aliases: [String]
    /// How long responses are kept, and what a second client still asks the origin, as docs/presets.md says it.
    let kept, again: String
    /// Further sentences for docs/presets.md; empty if there are none.
    let notes: String
    /// The text to paste into the configuration of clients, for a Larder at `localhost:3128`.
    let paste: String
    let token: TokenPlace?
    /// The initial settings of the service.
    let service: [SettingNode.Entry]
    /// Additional services, such as targets of the first one's links; each is named by the name of the first, `-`, and
    /// its own name.
    let companions: [SettingNode.Entry]
    /// The hosts of its origins that name the lifetime of every response.
    let namesLifetimes: [String]
    /// The file.
    let text: String

    static let all: [Preset] = files.map { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard let preset = Preset(text) else { preconditionFailure("a preset of the program is no preset: \(text)") }
        return preset
    }

    /// The preset that has a service for the host.
    static func of(host: String) -> Preset? {
        all.first { preset in
            let services = [preset.service] + preset.companions.map(\.value.entries)
            let urls = services.compactMap { entries in entries.last { $0.key == "baseURL" }?.value.text }
            return urls.contains { (try? TargetURI($0))?.host == host }
        }
    }

    static func named(_ name: String) -> Preset? { all.first { $0.name == name } }

    /// The preset probably meant by an unknown name: the nearest, or the one for that client.
    static func name(near name: String) -> String? {
        Nearest.name(to: name, in: all.map(\.name)) ?? all.first { $0.aliases.contains(name.lowercased()) }?.name
            ?? all.map(\.name).first { Set($0) == Set(name) }
    }

    init?(_ text: String) {
        self.text = text
        let name = text.split(separator: "\n").first { $0.hasPrefix("preset: ") }?.dropFirst(8) ?? ""
        var document = YAMLDocument(source: .file("preset \(name)"), references: SecretReferences(environment: [:]))
        guard let root = document.read(text), document.problems.isEmpty,
            let title = root["preset"]?.text, let version = root["version"]?.text.flatMap({ Int($0) }),
            let about = root["about"]?.text, let clients = root["clients"]?.text, let kept = root["kept"]?.text,
            let again = root["again"]?.text, let paste = root["paste"]?.text
        else { return nil }
        self.name = title
        self.version = version
        self.about = about
        (self.clients, self.kept, self.again) = (clients, kept, again)
        aliases = root["aliases"]?.items.compactMap(\.text) ?? []
        notes = root["notes"]?.text ?? ""
        self.paste = paste
        token = root["token"].flatMap { token in
            token["field"]?.text.map { TokenPlace(field: $0, scheme: token["scheme"]?.text) }
        }
        service = root["service"]?.entries ?? []
        companions = root["companions"]?.entries ?? []
        namesLifetimes = root["namesLifetimes"]?.items.compactMap(\.text) ?? []
    }
}

extension SettingNode {
    /// The entries of a map; none for anything else.
    var entries: [Entry] { if case .map(let entries) = content { entries } else { [] } }
    /// The items of a list; none for anything else.
    var items: [SettingNode] { if case .list(let items) = content { items } else { [] } }
    /// A text that is not empty.
    var text: String? {
        if case .scalar(let scalar) = content, !scalar.isNull, !scalar.isUnresolved { scalar.text } else { nil }
    }

    /// The value of a key.
    subscript(key: String) -> SettingNode? { entries.last { $0.key == key }?.value }
}
