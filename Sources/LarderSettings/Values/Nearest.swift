// SPDX-License-Identifier: Apache-2.0

/// Guesses the intended one of several names from a misspelling.
package enum Nearest {
    /// The name that differs least from `text`, if the difference is small enough.
    ///
    /// Case, `-` and `_` are ignored, so `base_url` is `baseURL`; otherwise one edit in three characters is allowed. Of
    /// equally near names the first wins. Where none is near, it is the only one of which `text` is the beginning:
    /// `warn` is `warning`.
    package static func name(to text: String, in names: some Collection<String>) -> String? {
        let wanted = folded(text)
        guard !wanted.isEmpty, wanted.count <= 64 else { return nil }
        var best: (name: String, distance: Int)?
        for name in names {
            let distance = distance(wanted, folded(name))
            guard distance <= max(1, min(wanted.count, name.count) / 3), distance < best?.distance ?? .max else {
                continue
            }
            // A one-letter name is one edit away from every other.
            guard distance == 0 || min(wanted.count, name.count) > 2 else { continue }
            best = (name, distance)
        }
        if let best { return best.name }
        let longer = names.filter { wanted.count >= 3 && folded($0).starts(with: wanted) }
        return longer.count == 1 ? longer[0] : nil
    }

    /// The number of insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
    package static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for (i, left) in a.enumerated() {
            var row = [i + 1]
            row.reserveCapacity(b.count + 1)
            for (j, right) in b.enumerated() {
                var cost = min(last[j] + (left == right ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, left == b[j - 1], a[i - 1] == right {
                    cost = min(cost, beforeLast[j - 1] + 1)
                }
                row.append(cost)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }

    private static func folded(_ text: String) -> [UInt8] {
        text.lowercased().utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }
    }
}
