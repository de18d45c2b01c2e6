// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The values that variables had before `larder env` set them, kept in variables of Larder's own, so that `--off` puts
/// them back.
struct FormerVariables {
    /// All that was set.
    private let names: [String]
    private let environment: [String: String]

    /// Holds their names, separated by blanks.
    private static let list = "LARDER_FORMER"
    private static func former(_ name: String) -> String { "\(list)_\(name)" }

    init(in environment: [String: String]) {
        self.environment = environment
        // They become words of a script.
        names = (environment[FormerVariables.list] ?? "").split(separator: " ").map(String.init).filter { name in
            name.utf8.allSatisfy { ASCII.isAlpha($0) || ASCII.isDigit($0) || $0 == UInt8(ascii: "_") }
        }
    }

    /// True if nothing was set.
    var isEmpty: Bool { names.isEmpty }

    /// `values`, and what they replace. Values that were remembered before stay, as the present ones are Larder's own.
    func remembering(_ values: [ProxyVariables.Value]) -> [ProxyVariables.Value] {
        let new = values.map(\.name).filter { !names.contains($0) }
        let former = new.compactMap { name in
            environment[name].map { ProxyVariables.Value(name: FormerVariables.former(name), value: $0) }
        }
        let all = (names + new).joined(separator: " ")
        return values + former + [ProxyVariables.Value(name: FormerVariables.list, value: all)]
    }

    /// The text that puts all former values back, and unsets what had none.
    func restoration(in form: ProxyVariables.Form) -> String {
        var values: [ProxyVariables.Value] = []
        var unset: [String] = []
        for name in names {
            guard let value = environment[FormerVariables.former(name)] else {
                unset.append(name)
                continue
            }
            values.append(ProxyVariables.Value(name: name, value: value))
            unset.append(FormerVariables.former(name))
        }
        return ProxyVariables.text(values, in: form)
            + ProxyVariables.removal(of: unset + [FormerVariables.list], in: form)
    }
}
