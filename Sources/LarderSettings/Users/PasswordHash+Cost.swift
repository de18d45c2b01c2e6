// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

extension PasswordHash {
    /// The work that a comparison with a hash takes, which the hash itself says: some could occupy a thread for minutes.
    ///
    /// Sources: crypt(5), and the settings of yescrypt 1.1 (`yescrypt-common.c`).
    enum Cost: Equatable {
        /// The rounds of sha512 and sha256.
        case rounds(Int)
        /// The logarithm of the rounds of bcrypt.
        case exponent(Int)
        /// For the other methods, the number of processed blocks of 128 bytes. Each block stays in memory.
        case blocks(UInt64)

        /// Some seconds.
        private static let roundLimit = 5_000_000
        /// About a second.
        private static let exponentLimit = 14
        /// 256 MiB, about a second.
        private static let blockLimit: UInt64 = 1 << 21

        /// Nil for a hash whose parameters mean nothing.
        init?(of text: String, _ method: Method) {
            let parts = text.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false).map(Array.init)
            guard parts.count > 2 else { return nil }
            switch method {
            case .sha512, .sha256:
                let rounds = parts[2].starts(with: "rounds=".utf8) ? parts[2].dropFirst(7) : []
                self = .rounds(rounds.isEmpty ? 5_000 : Int(String(decoding: rounds, as: UTF8.self)) ?? .max)
            case .bcrypt:
                guard let exponent = Int(String(decoding: parts[2], as: UTF8.self)) else { return nil }
                self = .exponent(exponent)
            case .scrypt:
                guard let blocks = Cost.scrypt(parts[2]) else { return nil }
                self = .blocks(blocks)
            case .yescrypt, .gostYescrypt:
                guard let blocks = Cost.yescrypt(parts[2]) else { return nil }
                self = .blocks(blocks)
            }
        }

        /// The parameter that exceeds its bound, in words; nil when none does.
        var excess: String? {
            switch self {
            case .rounds(let rounds): rounds > Cost.roundLimit ? "more than \(Cost.roundLimit) rounds" : nil
            case .exponent(let exponent): exponent > Cost.exponentLimit ? "a cost above \(Cost.exponentLimit)" : nil
            case .blocks(let blocks): blocks > Cost.blockLimit ? "parameters for more than 256 MiB or a second" : nil
            }
        }

        /// A digit for the logarithm of N, five for r, and five for p.
        private static func scrypt(_ setting: [UInt8]) -> UInt64? {
            guard setting.count >= 11, let exponent = value(setting[0]) else { return nil }
            func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
                var sum: UInt64 = 0
                for digit in digits.reversed() {
                    guard let value = value(digit) else { return nil }
                    sum = sum << 6 | value
                }
                return sum
            }
            guard let r = number(setting[1..<6]), let p = number(setting[6..<11]) else { return nil }
            return blocks(exponent, [r, p])
        }

        /// Flavour, the logarithm of N, and r; then perhaps which others there are, and those: p, t, g, and a ROM.
        private static func yescrypt(_ setting: [UInt8]) -> UInt64? {
            var rest = setting[...]
            guard number(&rest, from: 0) != nil, let exponent = number(&rest, from: 1), let r = number(&rest, from: 1)
            else { return nil }
            var factors = [r]
            if !rest.isEmpty {
                guard let others = number(&rest, from: 1) else { return nil }
                for (bit, first) in [(1, 2), (2, 1), (4, 1), (8, 1)] as [(UInt64, UInt64)] where others & bit != 0 {
                    guard let value = number(&rest, from: first) else { return nil }
                    switch bit {
                    case 1: factors.append(value)
                    case 2: factors.append(value + 1)
                    // Each upgrade takes four times as long.
                    case 4: factors.append(value < 16 ? 1 << (2 * value) : .max)
                    default: factors.append(.max)
                    }
                }
            }
            return rest.isEmpty ? blocks(exponent, factors) : nil
        }

        private static func blocks(_ exponent: UInt64, _ factors: [UInt64]) -> UInt64 {
            guard exponent < 40 else { return .max }
            return factors.reduce(1 << exponent) { product, factor in
                let (next, isTooMuch) = product.multipliedReportingOverflow(by: max(1, factor))
                return isTooMuch ? .max : next
            }
        }

        /// A number of one digit or more: the first digit says how many there are.
        private static func number(_ digits: inout ArraySlice<UInt8>, from least: UInt64) -> UInt64? {
            guard let digit = digits.popFirst(), let first = value(digit) else { return nil }
            var (sum, start, end, more) = (least, UInt64(0), UInt64(47), 0)
            while first > end {
                sum += (end + 1 - start) << UInt64(6 * more)
                start = end + 1
                end = start + (62 - end) / 2
                more += 1
                // Holds for digits up to 63: each turn takes half of what is left.
                guard more < 6 else { return nil }
            }
            sum += (first - start) << UInt64(6 * more)
            while more > 0 {
                guard let digit = digits.popFirst(), let value = value(digit) else { return nil }
                more -= 1
                sum += value << UInt64(6 * more)
            }
            return sum
        }

        /// The value of a digit of crypt's base 64: `./0-9A-Za-z`.
        private static func value(_ digit: UInt8) -> UInt64? {
            switch digit {
            case UInt8(ascii: ".")...UInt8(ascii: "9"): UInt64(digit - UInt8(ascii: "."))
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt64(digit - UInt8(ascii: "A")) + 12
            case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt64(digit - UInt8(ascii: "a")) + 38
            default: nil
            }
        }
    }
}
