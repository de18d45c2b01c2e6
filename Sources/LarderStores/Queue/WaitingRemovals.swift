// SPDX-License-Identifier: Apache-2.0

/// The removals of many entities that were accepted and have not ended. Those by label are found by it, so that neither
/// readers nor further removals look at all of them.
struct WaitingRemovals {
    private(set) var all: [ObjectIdentifier: Removal] = [:]
    /// The removals without labels.
    private(set) var unlabelled: [Removal] = []
    private(set) var byLabel: [EntityLabel: [Removal]] = [:]
    /// The labels of all removals, each as often as it occurs.
    private var labelCount = 0
    /// The wide removal that the writer has not taken.
    private(set) var wide: Removal?
    /// True while `wide` waits for the end of another wide removal, and so is not queued.
    private(set) var isWideHeld = false

    /// The most labels that wait. With more of them, the origin of a removal is emptied as a whole.
    static let labelLimit = 1_000

    var isEmpty: Bool { all.isEmpty }

    /// The removal that serves for `removal`, which no caller waits for: one in front of what is accepted from now on.
    func hasTwin(of removal: Removal) -> Bool {
        guard removal.continuation == nil else { return false }
        func isTwin(_ other: Removal) -> Bool { !other.isTaken && other.isFor(removal) }
        guard !removal.labels.isEmpty else { return unlabelled.contains(where: isTwin) }
        return removal.labels.allSatisfy { byLabel[$0]?.contains(where: isTwin) ?? false }
    }

    /// True if there are too many labels to add the labels of `removal`, and no caller waits for `removal`.
    func isFull(for removal: Removal) -> Bool {
        removal.continuation == nil && !removal.labels.isEmpty
            && labelCount + removal.labels.count > Self.labelLimit
    }

    mutating func insert(_ removal: Removal) {
        all[ObjectIdentifier(removal)] = removal
        guard !removal.labels.isEmpty else { return unlabelled.append(removal) }
        labelCount += removal.labels.count
        for label in removal.labels { byLabel[label, default: []].append(removal) }
    }

    mutating func remove(_ removal: Removal) {
        guard all.removeValue(forKey: ObjectIdentifier(removal)) != nil else { return }
        if removal.labels.isEmpty { unlabelled.removeAll { $0 === removal } }
        labelCount -= removal.labels.count
        for label in removal.labels {
            byLabel[label]?.removeAll { $0 === removal }
            if byLabel[label]?.isEmpty ?? false { byLabel[label] = nil }
        }
    }

    // MARK: Wide removals

    /// Adds `removal` to the wide removal that the writer has not taken. Returns a new wide removal to queue now, if
    /// any. Each looks at all rows, so at most one is in progress, and at most one waits.
    mutating func widen(by removal: Removal) -> Removal? {
        if let wide, !wide.isTaken {
            wide.widen(by: removal)
            return nil
        }
        let isFirst = !unlabelled.contains { $0.areas != nil }
        let new = Removal(widening: removal)
        wide = new
        isWideHeld = !isFirst
        insert(new)
        return isFirst ? new : nil
    }

    /// The wide removal that is to be queued now that another has ended.
    mutating func releaseWide(after ended: Removal) -> Removal? {
        guard ended.areas != nil, isWideHeld else { return nil }
        isWideHeld = false
        return wide
    }
}
