// SPDX-License-Identifier: Apache-2.0

/// Internationalised domain names as the DNS sees them: lower-cased labels in Punycode (RFC 5891, RFC 3492).
///
/// Names are taken as composed characters, which is how they are typed; a name with separate combining marks is
/// refused rather than guessed at.
enum DomainName {
    /// The ASCII form of `host`, or nil when it has none.
    static func encoded(_ host: String) -> String? {
        var labels: [String] = []
        for label in host.lowercased().split(omittingEmptySubsequences: false, whereSeparator: { ".。".contains($0) }) {
            guard !label.utf8.allSatisfy({ $0 < 0x80 }) else {
                labels.append(String(label))
                continue
            }
            let scalars = Array(label.unicodeScalars)
            guard scalars.allSatisfy(isAllowed), let encoded = punycode(scalars) else { return nil }
            labels.append("xn--" + encoded)
        }
        return labels.joined(separator: ".")
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x80 {
            return scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == "-"
        }
        switch scalar.properties.generalCategory {
        case .lowercaseLetter, .otherLetter, .modifierLetter, .decimalNumber: return true
        default: return false
        }
    }

    private static func punycode(_ input: [Unicode.Scalar]) -> String? {
        var output = input.filter { $0.value < 0x80 }.map { UInt8($0.value) }
        let basic = output.count
        if basic > 0 { output.append(UInt8(ascii: "-")) }
        var n: UInt32 = 128
        var delta = 0
        var bias = 72
        var handled = basic
        while handled < input.count {
            guard let next = input.lazy.map(\.value).filter({ $0 >= n }).min() else { return nil }
            let (step, overflow) = Int(next - n).multipliedReportingOverflow(by: handled + 1)
            guard !overflow else { return nil }
            delta += step
            n = next
            for scalar in input {
                if scalar.value < n { delta += 1 }
                guard scalar.value == n else { continue }
                var rest = delta
                var k = 36
                while true {
                    let threshold = k <= bias ? 1 : min(k - bias, 26)
                    if rest < threshold { break }
                    output.append(digit(threshold + (rest - threshold) % (36 - threshold)))
                    rest = (rest - threshold) / (36 - threshold)
                    k += 36
                }
                output.append(digit(rest))
                bias = adapted(delta, handled + 1, isFirst: handled == basic)
                delta = 0
                handled += 1
            }
            delta += 1
            n += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func digit(_ value: Int) -> UInt8 { UInt8(value < 26 ? value + 0x61 : value - 26 + 0x30) }

    /// RFC 3492 §6.1.
    private static func adapted(_ delta: Int, _ count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var k = 0
        while delta > 455 {
            delta /= 35
            k += 36
        }
        return k + 36 * delta / (delta + 38)
    }
}
