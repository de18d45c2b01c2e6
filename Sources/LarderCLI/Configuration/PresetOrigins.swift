// SPDX-License-Identifier: Apache-2.0

import LarderSettings

/// Puts problems of services with presets into the terms of the file that a person wrote.
struct PresetOrigins {
    private struct Origin {
        /// The blocks that precede those of the file.
        var blocks = 0
        /// The service in the file; that of a companion is the one whose preset has added it.
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
