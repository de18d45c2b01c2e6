// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Removals that need further transactions are written down with their first one, so that they go on after a crash:
/// otherwise readers would see the remaining rows again.
extension EntityDatabase {
    private static let separator: Character = "\u{1F}"
    private static let mark = "removal"

    /// Writes a removal down, unless code decides which entities it selects.
    func note(_ removal: Removal) throws(SQLiteFailure) {
        for name in Self.names(of: removal) {
            setState.bind(1, name)
            setState.bind(2, removal.lastID.load(ordering: .relaxed))
            try setState.run()
        }
    }

    /// The removal has ended.
    func forget(_ removal: Removal) throws(SQLiteFailure) {
        for name in Self.names(of: removal) {
            deleteState.bind(1, name)
            try deleteState.run()
        }
    }

    /// The removals that an earlier process began and did not end.
    func unfinishedRemovals() throws(SQLiteFailure) -> [Removal] {
        let statement = try connection.prepare("SELECT name, value FROM state")
        var found: [Removal] = []
        while try statement.step() {
            guard let removal = Self.removal(named: statement.text(0)) else { continue }
            removal.isTaken = true
            removal.lastID.store(max(0, statement.integer(1)), ordering: .relaxed)
            found.append(removal)
        }
        return found
    }

    /// One name for each label, or for each area of a removal without labels.
    private static func names(of removal: Removal) -> [String] {
        func name(_ label: EntityLabel?, _ area: EntityArea, prefix: String?) -> String {
            let parts = [
                removal.reason.rawValue, label.map { String($0.hash) } ?? "", area.service.map { "=" + $0 } ?? "",
                area.stage.map { "=" + $0 } ?? "", prefix.map { "=" + $0 } ?? "",
            ]
            return ([mark] + parts).joined(separator: String(separator))
        }
        if let areas = removal.areas {
            return areas.map { area in name(nil, area, prefix: area.origin.map { $0 + "/" }) }
        }
        let match = removal.match
        guard match.predicate == nil, match.partition == nil else { return [] }
        let area = EntityArea(service: match.service, stage: match.stage)
        if removal.labels.isEmpty { return [name(nil, area, prefix: match.urlPrefix)] }
        return removal.labels.map { name($0, area, prefix: match.urlPrefix) }
    }

    private static func removal(named name: String) -> Removal? {
        let parts = name.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == mark, let reason = RemovalReason(rawValue: String(parts[1])) else {
            return nil
        }
        func text(_ part: Substring) -> String? { part.isEmpty ? nil : String(part.dropFirst()) }
        let match = EntityMatch(service: text(parts[3]), stage: text(parts[4]), urlPrefix: text(parts[5]))
        guard !parts[2].isEmpty else { return Removal(match: match, reason: reason) }
        return UInt64(parts[2]).map { Removal(match: match, labels: [EntityLabel(hash: $0)], reason: reason) }
    }
}
