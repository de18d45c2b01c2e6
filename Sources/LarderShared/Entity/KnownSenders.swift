// SPDX-License-Identifier: Apache-2.0

/// The messages of the log that were applied, by the numbers their senders gave them: none is applied twice. An attacker
/// who can write to the engine, but has not the team's key, may append old messages again.
///
/// The messages of a sender that is not remembered are applied, as an invalidation must not be lost.
package struct KnownSenders: Sendable, Equatable {
    /// A sender's largest number that was obeyed, and those below it.
    package struct Window: Sendable, Equatable {
        package var largest: Int64
        /// Bit `n` is set where `largest - n` was obeyed.
        package var obeyed: UInt128
        /// The number of obeyed messages, of all senders, when this window was last used.
        fileprivate var usedAt: UInt64

        package init(largest: Int64, obeyed: UInt128) {
            self.largest = largest
            self.obeyed = obeyed
            usedAt = 0
        }

        /// A sender sends 64 messages at a time, and the next when these are all in the log. So a message twice as
        /// far behind was in the log before.
        static let width: Int64 = 128

        mutating func admit(_ number: Int64) -> Bool {
            if number > largest {
                obeyed = obeyed << number.subtractingReportingOverflow(largest).partialValue | 1
                largest = number
                return true
            }
            let behind = largest.subtractingReportingOverflow(number).partialValue
            guard behind < Window.width, obeyed >> behind & 1 == 0 else { return false }
            obeyed |= 1 << behind
            return true
        }
    }

    private var windows: [UInt128: Window] = [:]
    private var uses: UInt64 = 0
    private let limit: Int

    package init(limit: Int = 4096) { self.limit = limit }

    /// - Parameter list: the one of `list`; of more than there is room for the last ones.
    package init(_ list: [(sender: UInt128, window: Window)], limit: Int = 4096) {
        self.init(limit: limit)
        for (sender, window) in list.suffix(limit) {
            uses &+= 1
            windows[sender] = window
            windows[sender]?.usedAt = uses
        }
    }

    /// All windows; the last one used is at the end.
    package var list: [(sender: UInt128, window: Window)] {
        windows.sorted { $0.value.usedAt < $1.value.usedAt }.map { ($0.key, $0.value) }
    }

    /// True if a message is to be obeyed: it was not yet.
    ///
    /// - Parameter number: not negative.
    package mutating func admit(_ number: Int64, of sender: [UInt8]) -> Bool {
        let sender = sender.reduce(0 as UInt128) { $0 << 8 | UInt128($1) }
        uses &+= 1
        guard var window = windows[sender] else {
            if windows.count >= limit, let oldest = windows.min(by: { $0.value.usedAt < $1.value.usedAt })?.key {
                windows[oldest] = nil
            }
            windows[sender] = Window(largest: number, obeyed: 1)
            windows[sender]?.usedAt = uses
            return true
        }
        guard window.admit(number) else { return false }
        window.usedAt = uses
        windows[sender] = window
        return true
    }

    package static func == (one: KnownSenders, other: KnownSenders) -> Bool {
        one.list.elementsEqual(other.list) {
            $0.sender == $1.sender && $0.window.largest == $1.window.largest && $0.window.obeyed == $1.window.obeyed
        }
    }
}

/// Up to where the log was obeyed.
package struct LogPlace: Sendable, Equatable {
    package var position: String
    package var senders: KnownSenders

    package init(_ position: String, _ senders: KnownSenders = KnownSenders()) {
        self.position = position
        self.senders = senders
    }
}
