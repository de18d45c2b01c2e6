// SPDX-License-Identifier: Apache-2.0

import LarderSettings

/// Presets, expanded like settings of a file: the service's own settings override them, and all are checked alike.
extension SettingsLoader {
    func expandingPresets(in tree: SettingNode?, _ problems: inout [SettingsProblem]) -> SettingNode? {
        guard var tree, let index = tree.entries.lastIndex(where: { $0.key == "services" }),
            case .map(let written) = tree.entries[index].value.content
        else { return tree }
        var services = written.filter { $0.value["preset"] == nil }
        for entry in written {
            guard let chosen = entry.value["preset"], let word = chosen.text else {
                if entry.value["preset"] != nil { services.append(entry) }
                continue
            }
            guard let preset = preset(word, at: chosen, of: entry.key, &problems) else { continue }
            services.append(
                SettingNode.Entry(key: entry.key, place: entry.place, value: service(entry.value, preset)))
            add(preset.companions, of: entry.key, to: &services)
        }
        var entries = tree.entries
        entries[index].value.content = .map(services)
        tree.content = .map(entries)
        return tree
    }

    private func preset(
        _ word: String, at node: SettingNode, of service: String, _ problems: inout [SettingsProblem]
    ) -> Preset? {
        let name = String(word.prefix { $0 != "@" })
        guard let preset = Preset.named(name) else {
            let names = Preset.all.map(\.name)
            problems.append(
                SettingsProblem(
                    at: node.place, setting: "services.\(service).preset",
                    found: "the unknown preset \(SettingsProblem.quoted(name))",
                    expected: "one of " + names.joined(separator: ", "), suggestion: Preset.name(near: name),
                    advice: "`larder preset list` says what each is for"))
            return nil
        }
        if name != word, word.dropFirst(name.count + 1) != "\(preset.version)" {
            problems.append(
                SettingsProblem(
                    at: node.place, setting: "services.\(service).preset", found: SettingsProblem.quoted(word),
                    expected: "`\(name)` or `\(name)@\(preset.version)`, the version that this Larder has",
                    advice: "`larder preset show \(name)` prints it: see whether it suits you, and change the number"))
            return nil
        }
        return preset
    }

    /// The settings of a service: the preset's, overridden by its own.
    private func service(_ own: SettingNode, _ preset: Preset) -> SettingNode {
        var written = own.entries
        var base = preset.service
        var added: [SettingNode] = []
        if let place = preset.token, let index = written.lastIndex(where: { $0.key == "token" }) {
            added = [block(setting: place, to: written[index].value)]
            // All clients with the service's credential are one user, unless something else distinguishes users.
            if !base.contains(where: { $0.key == "identity" }) {
                let name = SettingNode(.scalar(SettingNode.Scalar(text: "private")), at: written[index].place)
                base.removeAll { $0.key == "privacy" }
                base.append(SettingNode.Entry(key: "privacy", place: written[index].place, value: name))
            }
            written.remove(at: index)
        }
        // The reader refuses an invalid list of blocks.
        if let index = base.lastIndex(where: { $0.key == "configure" }) {
            let blocks = base[index].value.items + added
            let owned = written.lastIndex { $0.key == "configure" }
            let isList = owned.map { if case .list = written[$0].value.content { true } else { false } } ?? true
            if isList {
                let place = owned.map { written[$0].value.place } ?? base[index].value.place
                let all = blocks + (owned.map { written[$0].value.items } ?? [])
                if let owned { written.remove(at: owned) }
                base[index].value = SettingNode(.list(all), at: place)
            }
        }
        // A service with `privacy` other than `partitioned` does not need the preset's `identity`.
        if let privacy = own["privacy"]?.text, privacy != "partitioned" { base.removeAll { $0.key == "identity" } }
        let known = Set(written.map(\.key))
        return SettingNode(.map(written + base.filter { !known.contains($0.key) }), at: own.place)
    }

    /// The block that sends the service's own credential.
    private func block(setting place: Preset.TokenPlace, to token: SettingNode) -> SettingNode {
        var value = token
        if case .scalar(var scalar) = token.content, let scheme = place.scheme, !scalar.isUnresolved {
            if !scalar.pieces.isEmpty { scalar.pieces.insert(.text(scheme + " "), at: 0) }
            scalar.text = "\(scheme) \(scalar.text)"
            scalar.written = "\(scheme) \(scalar.written)"
            value.content = .scalar(scalar)
        }
        func map(_ key: String, _ value: SettingNode) -> SettingNode {
            SettingNode(.map([SettingNode.Entry(key: key, place: token.place, value: value)]), at: token.place)
        }
        return map("headers", map(place.field, value))
    }

    /// Adds the additional services of a preset, unless there is one for the same URL. The file's settings override
    /// theirs.
    private func add(_ companions: [SettingNode.Entry], of name: String, to services: inout [SettingNode.Entry]) {
        for companion in companions {
            let key = "\(name)-\(companion.key)"
            if let index = services.lastIndex(where: { $0.key == key }) {
                let own = services[index].value
                let blocks = (companion.value["configure"]?.items ?? []) + (own["configure"]?.items ?? [])
                let known = Set(own.entries.map(\.key))
                var merged = own.entries + companion.value.entries.filter { !known.contains($0.key) }
                if let place = merged.firstIndex(where: { $0.key == "configure" }), !blocks.isEmpty {
                    merged[place].value = SettingNode(.list(blocks), at: merged[place].value.place)
                }
                services[index].value = SettingNode(.map(merged), at: own.place)
            } else if !services.contains(where: { $0.value["baseURL"]?.text == companion.value["baseURL"]?.text }) {
                services.append(SettingNode.Entry(key: key, place: companion.place, value: companion.value))
            }
        }
    }
}

/// Puts problems of services with presets into the terms of the file that a person wrote.
struct PresetOrigins {
    private struct Origin {
        /// The number of blocks that precede the file's blocks.
        var blocks = 0
        /// The place of the service in the file. For a companion, it is the place of the service whose preset added it.
        var place: SourcePlace
    }

    private var origins: [String: Origin] = [:]

    init(written: SettingNode?, expanded: SettingNode?) {
        let own = written?["services"]?.entries ?? []
        for entry in expanded?["services"]?.entries ?? [] {
            let file = own.last { $0.key == entry.key } ?? own.last { entry.key.hasPrefix($0.key + "-") }
            guard let file else { continue }
            let count = entry.value["configure"]?.items.count ?? 0
            let kept = file.key == entry.key ? file.value["configure"]?.items.count ?? 0 : 0
            origins[entry.key] = Origin(blocks: max(0, count - kept), place: file.place)
        }
    }

    /// The same problem with the numbers of the file's blocks, in place of a position in a preset.
    func asWritten(_ problem: SettingsProblem) -> SettingsProblem {
        let words = problem.setting.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count > 1, words[0] == "services", let origin = origins[String(words[1])] else { return problem }
        var problem = problem
        if case .file(let path, _, _) = problem.place, path.hasPrefix("preset ") { problem.place = origin.place }
        guard origin.blocks > 0, words.count > 2, words[2].hasPrefix("configure["),
            let end = words[2].firstIndex(of: "]"), let index = Int(words[2][..<end].dropFirst(10))
        else { return problem }
        let place = index >= origin.blocks ? "configure[\(index - origin.blocks)]" : "preset"
        problem.setting = "services.\(words[1]).\(place)\(words[2][end...].dropFirst())"
        return problem
    }
}
