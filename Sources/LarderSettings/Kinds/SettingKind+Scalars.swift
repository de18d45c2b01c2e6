// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

extension SettingKind where Value == Duration {
    /// A time with its unit, within `range`.
    static func duration(_ range: ClosedRange<Duration>) -> SettingKind {
        let least = UnitText.write(range.lowerBound)
        let most = UnitText.write(range.upperBound)
        return .text(
            "duration", expected: "a duration from \(least) to \(most) with its unit, as `30 s` or `10 min`",
            bounds: "\(least) … \(most)", unit: UnitText.durationUnits,
            show: { .text(UnitText.write($0)) },
            parse: { scalar in
                UnitText.duration.read(scalar.text)
                    .mapError { failure in
                        TextRefusal(failure, units: ["s", "min", "h", "ms"]) { text in
                            (try? UnitText.duration.read(text).get()).map { range.contains(.nanoseconds($0)) } ?? false
                        }
                    }
                    .map { Duration.nanoseconds($0) }
                    .within(range, write: UnitText.write)
            })
    }
}

extension SettingKind where Value == ByteCount {
    /// A number of bytes with its unit, within two bounds.
    static func size(_ least: ByteCount, _ most: ByteCount) -> SettingKind {
        let range = least...most
        return .text(
            "size",
            expected: "a size from \(range.lowerBound) to \(range.upperBound) with its unit, as `64 KiB` or `10 GiB`",
            bounds: "\(range.lowerBound) … \(range.upperBound)", unit: UnitText.sizeUnits,
            show: { .text($0.description) },
            parse: { scalar in
                UnitText.size.read(scalar.text)
                    .mapError { failure in
                        TextRefusal(failure, units: ["MiB", "GiB", "TiB", "KiB"]) { text in
                            (try? UnitText.size.read(text).get()).map { range.contains(ByteCount(Int($0))) } ?? false
                        }
                    }
                    .map { ByteCount(Int($0)) }
                    .within(range, write: \.description)
            })
    }
}

extension SettingKind where Value == Int {
    /// A number of bytes, written with its unit, within two bounds.
    static func bytes(_ least: ByteCount, _ most: ByteCount) -> SettingKind {
        let size = SettingKind<ByteCount>.size(least, most)
        return SettingKind(
            size.name, expected: size.expected, bounds: size.bounds, unit: size.unit,
            read: { node, reader in size.read(node, &reader)?.bytes }, show: { size.show(ByteCount($0)) })
    }

    /// A whole number within `range`.
    static func integer(_ range: ClosedRange<Int>) -> SettingKind {
        .text(
            "number", expected: "a whole number from \(range.lowerBound) to \(range.upperBound)",
            bounds: "\(range.lowerBound) … \(range.upperBound)",
            show: { .number($0) },
            parse: { scalar in
                guard scalar.text.utf8.count <= 18, let number = Int(scalar.text) else {
                    return .failure(TextRefusal())
                }
                if scalar.isQuoted { return .failure(.quotes(around: scalar)) }
                return Result.success(number).within(range, write: \.description)
            })
    }
}

extension SettingKind where Value == Double {
    /// A part of everything, from 0 to 1.
    static var share: SettingKind {
        .text(
            "share", expected: "a number from 0 to 1, as `0.01`", bounds: "0 … 1",
            show: { .text($0 == $0.rounded() ? String(Int($0)) : String($0)) },
            parse: { scalar in
                if scalar.text.hasSuffix("%"), let number = Double(scalar.text.dropLast()), (0...100).contains(number) {
                    return .failure(TextRefusal(suggestion: String(number / 100)))
                }
                guard let number = Double(scalar.text), number.isFinite else { return .failure(TextRefusal()) }
                return Result.success(number).within(0...1) { String(Int($0)) }
            })
    }
}

extension SettingKind where Value == Bool {
    static var flag: SettingKind {
        .text(
            "switch", expected: "`true` or `false`",
            show: { .flag($0) },
            parse: { scalar in
                switch scalar.text {
                case "true", "on", "yes": return scalar.isQuoted ? .failure(.quotes(around: scalar)) : .success(true)
                case "false", "off", "no": return scalar.isQuoted ? .failure(.quotes(around: scalar)) : .success(false)
                default:
                    return .failure(TextRefusal(suggestion: Nearest.name(to: scalar.text, in: ["true", "false"])))
                }
            })
    }
}

extension SettingKind where Value: RawRepresentable & CaseIterable & Equatable, Value.RawValue == String {
    /// One of the words of an enumeration.
    static var choice: SettingKind { .choice(Value.allCases.map { ($0.rawValue, $0) }) }
}

extension SettingKind where Value: Equatable {
    /// One of the words in `values`.
    static func choice(_ values: KeyValuePairs<String, Value>) -> SettingKind {
        .choice(values.map { ($0.key, $0.value) })
    }

    /// One of the words in `values`.
    static func choice(_ values: [(word: String, value: Value)]) -> SettingKind {
        let words = WordChoice(words: values.map(\.word))
        return .text(
            "word", expected: words.expected, bounds: words.bounds,
            show: { value in .text(values.first { $0.value == value }?.word ?? "") },
            parse: { scalar in
                if let found = values.first(where: { $0.word == scalar.text }) { return .success(found.value) }
                return .failure(words.refusal(of: scalar.text))
            })
    }
}

/// The words of a choice.
private struct WordChoice {
    let words: [String]

    var expected: String {
        let listed = words.map { "`\($0)`" }
        return [listed.dropLast().joined(separator: ", "), listed.last ?? ""].joined(separator: " or ")
    }

    var bounds: String { words.joined(separator: ", ") }

    func refusal(of text: String) -> TextRefusal { TextRefusal(suggestion: Nearest.name(to: text, in: words)) }
}

extension SettingKind where Value == String {
    /// One line of text.
    static func line(_ name: String = "text", upTo limit: Int = 200) -> SettingKind {
        .text(
            name, expected: "one line of text, at most \(limit) characters",
            show: { .text($0) },
            parse: { scalar in
                let isLine = !scalar.text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
                return isLine && scalar.text.count <= limit ? .success(scalar.text) : .failure(TextRefusal())
            })
    }

    /// The absolute path of a file.
    static var path: SettingKind {
        .text(
            "path", expected: "an absolute path",
            show: { .text($0) },
            parse: { scalar in
                FileLocation.refusal(ofPath: scalar.text).map { .failure($0) } ?? .success(scalar.text)
            })
    }
}

extension SettingKind where Value == FileLocation {
    /// The absolute path of a file, or `none`.
    static func location(upTo limit: Int = 4_000) -> SettingKind {
        .text(
            "path", expected: "an absolute path of at most \(limit) octets, or `none`",
            show: { location in
                switch location {
                case .automatic: .nothing
                case .none: .text("none")
                case .path(let path): .text(path)
                }
            },
            parse: { scalar in
                if scalar.text == "none" { return .success(FileLocation.none) }
                if let refusal = FileLocation.refusal(ofPath: scalar.text, upTo: limit) { return .failure(refusal) }
                return .success(.path(scalar.text))
            })
    }
}

extension FileLocation {
    static func refusal(ofPath text: String, upTo limit: Int = 4_000) -> TextRefusal? {
        if text.utf8.contains(0) { return TextRefusal() }
        if text.hasPrefix("unix:") { return TextRefusal(suggestion: String(text.dropFirst(5))) }
        if text.hasPrefix("~") {
            return TextRefusal(advice: "`~` is not expanded; write `${HOME}\(text.dropFirst())`")
        }
        if !text.hasPrefix("/") { return TextRefusal(advice: "start it with `/`") }
        if text.hasSuffix("/") { return TextRefusal(advice: "name a file, not a directory") }
        if text.utf8.count > limit { return TextRefusal(advice: "choose a shorter path") }
        return nil
    }
}

extension SettingKind where Value == Secret {
    /// A token: visible ASCII, never shown.
    static var secret: SettingKind {
        .text(
            "secret", expected: "visible ASCII characters, as `${NAME}` or `${file:/path}`", isSecret: true,
            show: { .text($0.reference ?? "\($0)") },
            parse: { scalar in
                guard !scalar.text.isEmpty, scalar.text.utf8.count <= 4_096,
                    scalar.text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
                else {
                    return .failure(
                        TextRefusal(found: "a text that is empty, too long, or holds spaces or other characters"))
                }
                return .success(Secret(scalar.text, reference: scalar.hasReferences ? scalar.written : nil))
            })
    }
}

extension TextRefusal {
    static func quotes(around scalar: SettingNode.Scalar) -> TextRefusal {
        TextRefusal(found: "\(SettingsProblem.quoted(scalar.written)) in quotes", advice: "leave the quotes out")
    }

    /// - Parameters:
    ///   - units: what a number without a unit may have meant, the likeliest first.
    ///   - isAllowed: whether a text is a value of the setting.
    init(_ failure: UnitText.Failure, units: [String], isAllowed: (String) -> Bool) {
        guard case .noUnit(let suggestion) = failure else { self.init(failure); return }
        let number = suggestion.prefix { $0 != " " }
        self.init(
            suggestion: units.map { "\(number) \($0)" }.first(where: isAllowed), advice: "a number needs its unit")
    }

    init(_ failure: UnitText.Failure) {
        switch failure {
        case .notANumber: self.init()
        case .noUnit(let suggestion): self.init(suggestion: suggestion, advice: "a number needs its unit")
        case .unknownUnit(let unit, let suggestion):
            self.init(suggestion: suggestion, advice: "\(SettingsProblem.quoted(unit)) is not a unit")
        case .tooLarge: self.init(advice: "choose a smaller one")
        }
    }
}

extension Result where Success: Comparable, Failure == TextRefusal {
    /// Refuses values outside `range`, and names the exceeded bound.
    fileprivate func within(_ range: ClosedRange<Success>, write: (Success) -> String) -> Result {
        flatMap { value in
            if value < range.lowerBound {
                return .failure(TextRefusal(advice: "the least is \(write(range.lowerBound))"))
            }
            if value > range.upperBound {
                return .failure(TextRefusal(advice: "the most is \(write(range.upperBound))"))
            }
            return .success(value)
        }
    }
}

extension SettingKind where Value == Status {
    /// A final status within bounds.
    static func status(_ range: ClosedRange<Int>) -> SettingKind {
        let number = SettingKind<Int>.integer(range)
        return SettingKind(
            "status", expected: "a status from \(range.lowerBound) to \(range.upperBound)", bounds: number.bounds,
            read: { node, reader in number.read(node, &reader).map { Status($0) } },
            show: { .number(Int($0.rawValue)) })
    }
}
