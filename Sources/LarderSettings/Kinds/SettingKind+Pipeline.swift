// SPDX-License-Identifier: Apache-2.0

import Larder

extension SettingKind where Value == PipelineSettings {
    /// A map of stages, and of settings for all of them.
    static var pipeline: SettingKind {
        SettingKind(
            "map of stages", expected: "a map from a stage's name to its transformers",
            read: { node, reader in
                guard case .map(let written) = node.content else {
                    reader.refuse(
                        node, found: node.summary(showingText: false),
                        expected: "a map from a stage's name to its transformers",
                        advice: "as `pipeline: { model: [ { jq: … } ] }`")
                    return nil
                }
                let entries = reader.withoutRepetitions(written)
                var pipeline = PipelineSettings()
                // The order declares stages that other keys may then use, wherever it stands.
                if let order = entries.first(where: { $0.key == "order" }) {
                    pipeline.order = reader.within("order", at: order.place) { stageOrder(order.value, &$0) }
                    for key in pipeline.order ?? [] { reader.stageNames.insert(key.name) }
                }
                for entry in entries where entry.key != "order" {
                    guard
                        PipelineSettings.words.contains(entry.key)
                            || reader.isStage(entry, amongThoseOf: pipeline.order)
                    else { continue }
                    reader.within(entry.key, at: entry.place) { reader in
                        let flag = SettingKind<Bool>.flag
                        switch entry.key {
                        case "clear": pipeline.clear = flag.read(entry.value, &reader) ?? false
                        case "removeAllTransformers":
                            pipeline.removeAllTransformers = flag.read(entry.value, &reader) ?? false
                        case "removeAllCaches": pipeline.removeAllCaches = flag.read(entry.value, &reader) ?? false
                        default: if let stage = stage(entry, &reader) { pipeline.stages.append(stage) }
                        }
                    }
                }
                return pipeline
            },
            show: { pipeline in
                var entries: [(name: String, value: ShownValue)] = []
                if let order = pipeline.order { entries.append(("order", .list(order.map { .text($0.name) }))) }
                for (name, isSet) in [
                    ("clear", pipeline.clear), ("removeAllTransformers", pipeline.removeAllTransformers),
                    ("removeAllCaches", pipeline.removeAllCaches),
                ] where isSet {
                    entries.append((name, .flag(true)))
                }
                return .map(entries + pipeline.stages.map { ($0.key.name, show($0)) })
            })
    }

    private static func stageOrder(_ node: SettingNode, _ reader: inout SettingsReader) -> [PipelineStageKey]? {
        let names = SettingKind<String>.list(of: .stageName, count: 1...32).read(node, &reader)
        guard let names else { return nil }
        var seen: Set<String> = []
        if let repeated = names.first(where: { !seen.insert($0).inserted }) {
            reader.refuse(
                node, found: "the stage \(SettingsProblem.quoted(repeated)) twice", expected: "each stage once",
                advice: "remove one of them")
            return nil
        }
        return names.map(PipelineStageKey.init)
    }

    /// A stage: a list of transformers, or a map.
    private static func stage(_ entry: SettingNode.Entry, _ reader: inout SettingsReader) -> StageSettings? {
        var draft = StageDraft()
        switch entry.value.content {
        case .map(let entries) where !entries.contains { TransformerSettings.names.contains($0.key) }:
            StageDraft.section.read(entry.value, into: &draft, &reader)
        case .scalar, .list, .map:
            guard let add = SettingKind<[TransformerSettings]>.transformers.read(entry.value, &reader) else {
                return nil
            }
            draft.add = add
        }
        var stage = StageSettings(PipelineStageKey(entry.key))
        (stage.clear, stage.add, stage.cache) = (draft.clear, draft.add, draft.cache)
        return stage
    }

    private static func show(_ stage: StageSettings) -> ShownValue {
        let transformers = SettingKind<[TransformerSettings]>.transformers
        if !stage.clear, stage.cache == nil { return transformers.show(stage.add) }
        var entries: [(name: String, value: ShownValue)] = []
        if stage.clear { entries.append(("clear", .flag(true))) }
        if !stage.add.isEmpty { entries.append(("add", transformers.show(stage.add))) }
        if let cache = stage.cache { entries.append(("cache", .text(cache.rawValue))) }
        return .map(entries)
    }
}

/// A stage written as a map.
private struct StageDraft: SettingsRoot {
    var clear = false
    var add: [TransformerSettings] = []
    var cache: StageCaching?

    static let section = SettingsSection<StageDraft>([
        Setting("clear", \.clear, .flag, "Removes the transformers that earlier blocks put here."),
        Setting("add", \.add, .transformers, "The transformers put behind those that are there."),
        Setting("cache", \.cache, .choice, "Whether what comes out is kept in the store."),
    ])
}

extension SettingKind where Value == Configuration.Serving {
    /// The responses that clients get.
    static var serving: SettingKind {
        SettingKind(
            "`raw`, `final` or a stage", expected: "`raw`, `final` or the name of a stage",
            read: { node, reader in
                guard case .scalar(let scalar) = node.content, !scalar.isNull else {
                    reader.refuse(
                        node, found: node.summary(showingText: false), expected: "`raw`, `final` or the name of a stage"
                    )
                    return nil
                }
                switch scalar.text {
                case "raw": return .raw
                case "final": return .final
                case let name where reader.knowsStage(name): return .stage(PipelineStageKey(name))
                case let name:
                    reader.refuse(
                        node, expected: "`raw`, `final` or the name of a stage",
                        suggestion: Nearest.name(to: name, in: ["raw", "final"] + reader.sortedStages),
                        advice: "stages of your own are named in `order` first")
                    return nil
                }
            },
            show: { serving in
                switch serving {
                case .raw: .text("raw")
                case .final: .text("final")
                case .stage(let key): .text(key.name)
                }
            })
    }
}

extension SettingKind where Value == String {
    /// The name of a stage.
    fileprivate static var stageName: SettingKind {
        .text(
            "stage", expected: "a name of 1 to 63 letters, digits, `-` and `_` that starts with a letter",
            show: { .text($0) },
            parse: { scalar in
                let isName =
                    (1...63).contains(scalar.text.utf8.count)
                    && scalar.text.utf8.allSatisfy {
                        (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || "-_".utf8.contains($0)
                    } && (0x61...0x7A).contains((scalar.text.utf8.first ?? 0) | 0x20)
                guard isName else { return .failure(TextRefusal()) }
                guard !(PipelineSettings.words + ["raw", "final"]).contains(scalar.text) else {
                    return .failure(TextRefusal(advice: "this word has a meaning of its own; choose another name"))
                }
                return .success(scalar.text)
            })
    }
}

extension SettingsReader {
    /// True if a stage has that name: a usual stage, or a stage that an earlier `order` of this service named.
    fileprivate func knowsStage(_ name: String) -> Bool { sortedStages.contains(name) }

    /// True if an entry is for a stage; if not, it is refused.
    fileprivate mutating func isStage(
        _ entry: SettingNode.Entry, amongThoseOf order: [PipelineStageKey]?
    ) -> Bool {
        if knowsStage(entry.key) {
            guard let order, !order.contains(PipelineStageKey(entry.key)) else { return true }
            refuse(
                SettingsProblem(
                    at: entry.place, setting: setting,
                    found: "the stage \(SettingsProblem.quoted(entry.key)), which does not run",
                    expected: "a stage that `order` names", advice: "add it to `order`, or remove it"))
            return false
        }
        let known = PipelineSettings.words + sortedStages
        refuse(
            SettingsProblem(
                at: entry.place, setting: setting, found: "the unknown stage \(SettingsProblem.quoted(entry.key))",
                expected: "one of \(known.joined(separator: ", "))",
                suggestion: Nearest.name(to: entry.key, in: known),
                advice: "stages of your own are named in `order` first"))
        return false
    }

    fileprivate var sortedStages: [String] {
        let usual = Pipeline.defaultOrder.map(\.name)
        return usual + stageNames.subtracting(usual).sorted()
    }
}
