// SPDX-License-Identifier: Apache-2.0

extension SettingKind where Value == [ModelPrice] {
    static var prices: SettingKind {
        let expected = "`{ input: 2.50, output: 10 }`, what a million tokens cost"
        return .map(
            "map of prices", expected: "a map from a model's name to its prices", count: 1_000,
            read: { entry, reader in
                var price = ModelPrice(model: entry.key, input: 0, output: 0)
                guard case .map(let parts) = entry.value.content else {
                    reader.refuse(entry.value, expected: expected)
                    return nil
                }
                for part in reader.withoutRepetitions(parts) {
                    guard case .scalar(let scalar) = part.value.content, let number = Double(scalar.text),
                        (0...1_000_000).contains(number)
                    else {
                        reader.refuse(part.value, expected: "a number from 0 to 1000000")
                        return nil
                    }
                    switch part.key {
                    case "input": price.input = number
                    case "output": price.output = number
                    default:
                        reader.refuse(
                            SettingsProblem(
                                at: part.place, setting: reader.setting,
                                found: "the unknown key \(SettingsProblem.quoted(part.key))", expected: expected))
                        return nil
                    }
                }
                return price
            },
            show: { price in
                (price.model, .map([("input", .text("\(price.input)")), ("output", .text("\(price.output)"))]))
            })
    }
}
