// SPDX-License-Identifier: Apache-2.0

extension SharedLoad {
    /// The readers by their numbers. Nearly every load has one, whose place needs no table.
    struct Readers {
        private var first: ReaderState?
        private var others: [Int: ReaderState] = [:]

        var count: Int { others.count + (first == nil ? 0 : 1) }
        var isEmpty: Bool { count == 0 }

        subscript(reader: Int) -> ReaderState? {
            get { reader == 0 ? first : others[reader] }
            set { if reader == 0 { first = newValue } else { others[reader] = newValue } }
        }

        /// The position of the slowest reader that is waited for.
        var slowest: Int64? {
            let least = others.values.lazy.filter { !$0.isGivenUp }.map(\.offset).min()
            guard let first, !first.isGivenUp else { return least }
            return min(least ?? first.offset, first.offset)
        }

        /// Gives up those before `position`, unless nobody is at it or behind it. True if it gave up any.
        mutating func giveUp(before position: Int64) -> Bool {
            let kept = (Array(others.values) + (first.map { [$0] } ?? [])).filter { !$0.isGivenUp }
            let slow = kept.count { $0.offset < position }
            guard slow > 0, slow < kept.count else { return false }
            if let first, first.offset < position { self.first?.isGivenUp = true }
            for (key, reader) in others where reader.offset < position { others[key]?.isGivenUp = true }
            return true
        }

        /// The continuations of the waiting readers, which wait no longer.
        mutating func takeWaiting() -> [UnsafeContinuation<Void, Never>] {
            var waiting: [UnsafeContinuation<Void, Never>] = []
            if let continuation = first?.waiting.take() { waiting.append(continuation) }
            for reader in others.keys {
                if let continuation = others[reader]?.waiting.take() { waiting.append(continuation) }
            }
            return waiting
        }
    }

    struct ReaderState {
        var offset: Int64 = 0
        /// How many bytes from there on it is reading from the spool, which is needed until it asks for the next.
        private(set) var lent: Int64 = 0
        var waiting: UnsafeContinuation<Void, Never>?
        var isInterrupted = false
        /// Whether it has held back others for too long.
        fileprivate(set) var isGivenUp = false

        mutating func lend(_ count: Int) { lent = Int64(count) }

        /// It has read what it was lent. Returns its offset from now on.
        mutating func giveBack() -> Int64 {
            offset += lent
            lent = 0
            return offset
        }
    }
}
