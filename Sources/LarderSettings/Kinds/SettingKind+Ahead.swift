// SPDX-License-Identifier: Apache-2.0

package import Larder

extension SettingKind where Value == RefreshAhead {
    /// A word, `every` and a duration, or `daily` and a time of day.
    static var refreshAhead: SettingKind {
        .text(
            "word or schedule",
            expected: "`off`, `watched`, `popular`, or a schedule: `every 15 min` (1 min … 30 days), `daily 06:00`",
            show: { .text($0.text) },
            parse: { scalar in
                let words = scalar.text.split(separator: " ", maxSplits: 1).map(String.init)
                switch (words.first, words.dropFirst().first) {
                case ("off", nil): return .success(.off)
                case ("watched", nil): return .success(.watched)
                case ("popular", nil): return .success(.popular)
                case ("every", let text?): return interval(text)
                case ("daily", let text?):
                    return time(text).map { .success(.daily(minutes: $0)) } ?? .failure(TextRefusal())
                default:
                    let known = ["off", "watched", "popular", "every 15 min", "daily 06:00"]
                    return .failure(TextRefusal(suggestion: Nearest.name(to: scalar.text, in: known)))
                }
            })
    }

    private static func interval(_ text: String) -> Result<RefreshAhead, TextRefusal> {
        switch UnitText.duration.read(text) {
        case .failure(let failure):
            var refusal = TextRefusal(failure)
            refusal.suggestion = refusal.suggestion.map { "every \($0)" }
            return .failure(refusal)
        case .success(let nanoseconds):
            let interval = Duration.nanoseconds(nanoseconds)
            let range = Duration.seconds(60)...Duration.seconds(30 * 86_400)
            return range.contains(interval) ? .success(.every(interval)) : .failure(TextRefusal())
        }
    }

    /// `06:00` in minutes after midnight.
    private static func time(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let areNumbers = parts.allSatisfy { $0.utf8.count == 2 && $0.allSatisfy(\.isWholeNumber) }
        guard parts.count == 2, areNumbers, let hours = Int(parts[0]), let minutes = Int(parts[1]), hours < 24,
            minutes < 60
        else { return nil }
        return hours * 60 + minutes
    }
}

extension RefreshAhead {
    /// The value as written in the configuration.
    package var text: String {
        func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return switch self {
        case .off: "off"
        case .watched: "watched"
        case .popular: "popular"
        case .every(let interval): "every \(UnitText.write(interval))"
        case .daily(let minutes): "daily \(twoDigits(minutes / 60)):\(twoDigits(minutes % 60))"
        }
    }
}
