// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

/// `expirationTime` written as a map, but for its statuses.
struct ExpirationDraft: SettingsRoot {
    var time: Duration?
    var mode: Configuration.ExpirationMode?
}

extension SettingKind where Value == Configuration.ExpirationMode {
    /// How a lifetime of the configuration relates to the origin's.
    static var expirationMode: SettingKind {
        .choice(["fallback": .fallback, "cap": .cap, "floor": .floor, "override": .override])
    }
}

extension SettingKind where Value == Expiration {
    /// A duration alone, or a map of durations for statuses and all others, and how they relate to the origin's.
    static func expiration(_ range: ClosedRange<Duration>) -> SettingKind {
        let time = SettingKind<Duration>.duration(range)
        let section = SettingsSection<ExpirationDraft>([
            Setting("time", \.time, time, isRequired: true, "How long."),
            Setting("default", \.time, time, "The same, beside statuses."),
            Setting("mode", \.mode, .expirationMode, "How it relates to the origin's."),
        ])
        return SettingKind(
            "duration, or map of time, mode and statuses", expected: time.expected, bounds: time.bounds,
            unit: time.unit,
            read: { node, reader in
                guard case .map(let entries) = node.content else {
                    return time.read(node, &reader).map { Expiration(time: $0) }
                }
                var expiration = Expiration(time: nil)
                let before = reader.problems.count
                for entry in entries where isClass(entry.key) {
                    reader.refuse(
                        SettingsProblem(
                            at: entry.place, setting: reader.setting,
                            found: "\(SettingsProblem.quoted(entry.key)), a class of statuses",
                            expected: "single statuses",
                            advice:
                                "write those that occur, as `\(entry.key.prefix(1))04: 1 min`; `time` is for all others"
                        ))
                }
                for entry in reader.withoutRepetitions(entries.filter({ status($0) != nil })) {
                    guard let status = status(entry) else { continue }
                    expiration.byStatus[status] = reader.within(entry.key, at: entry.place) {
                        time.read(entry.value, &$0)
                    }
                }
                var (rest, draft) = (node, ExpirationDraft())
                rest.content = .map(entries.filter { status($0) == nil && !isClass($0.key) })
                section.read(rest, into: &draft, &reader)
                (expiration.time, expiration.mode) = (draft.time, draft.mode)
                if draft.time != nil || !expiration.byStatus.isEmpty { return expiration }
                if reader.problems.count == before {
                    reader.refuse(
                        node, found: "a map without `time`", expected: time.expected, advice: "add `time: 30 s`")
                }
                return nil
            },
            show: { expiration in
                if expiration.byStatus.isEmpty, expiration.mode == nil, let alone = expiration.time {
                    return time.show(alone)
                }
                var entries: [(name: String, value: ShownValue)] = expiration.byStatus
                    .sorted { $0.key.rawValue < $1.key.rawValue }
                    .map { ("\($0.key.rawValue)", time.show($0.value)) }
                if let rest = expiration.time { entries.append(("time", time.show(rest))) }
                if let mode = expiration.mode { entries.append(("mode", .text(mode.rawValue))) }
                return .map(entries)
            })
    }

    /// Times with the mode `floor`.
    static func leastExpiration(_ range: ClosedRange<Duration>) -> SettingKind {
        let kind = expiration(range)
        return SettingKind(
            kind.name, expected: kind.expected, bounds: kind.bounds, unit: kind.unit,
            read: { node, reader in
                guard var expiration = kind.read(node, &reader) else { return nil }
                if expiration.mode != nil {
                    reader.refuse(
                        node, found: "`keepFor` with a `mode`", expected: "times alone",
                        advice: "its mode is `floor`; write `expirationTime` for another")
                }
                expiration.mode = .floor
                return expiration
            }, show: kind.show)
    }

    /// True if a key is of the form `4xx`.
    private static func isClass(_ key: String) -> Bool {
        key.utf8.count == 3 && "12345".contains(key.prefix(1)) && key.dropFirst().lowercased() == "xx"
    }

    /// The final status that a key names.
    private static func status(_ entry: SettingNode.Entry) -> Status? {
        guard entry.key.utf8.count == 3, let code = UInt16(entry.key), (200...599).contains(code) else { return nil }
        return Status(rawValue: code)
    }
}
