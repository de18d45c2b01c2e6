// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

extension ResourceURL {
    /// This URL with one query parameter set; an empty value leaves the bare name, nil removes the parameter.
    ///
    /// Other parameters keep their bytes; all of them are put in the order of their decoded names, so that one
    /// set of parameters is one resource.
    public func withParam(_ name: String, _ value: String?) -> ResourceURL {
        withParams([(name, value.map { [$0] } ?? [])])
    }

    /// This URL with one query parameter that has several values, in their order.
    public func withParam(_ name: String, values: [String]) -> ResourceURL { withParams([(name, values)]) }

    /// This URL with several query parameters set; nil removes one.
    public func withParams(_ parameters: [String: String?]) -> ResourceURL {
        withParams(parameters.map { ($0.key, $0.value.map { [$0] } ?? []) })
    }

    private func withParams(_ parameters: [(name: String, values: [String])]) -> ResourceURL {
        let changed = Set(parameters.map { Array($0.name.utf8) })
        var items = (target?.query ?? "").split(separator: "&").map { item in
            (
                name: PercentText.octets(of: item.utf8.prefix { $0 != UInt8(ascii: "=") }, isForm: false),
                text: String(item)
            )
        }
        items.removeAll { changed.contains($0.name) }
        for (name, values) in parameters {
            for value in values {
                let encoded =
                    PercentEncoding.parameter(name) + (value.isEmpty ? "" : "=" + PercentEncoding.parameter(value))
                items.append((Array(name.utf8), encoded))
            }
        }
        // The position breaks ties, so that repeated names keep their order.
        let sorted = items.enumerated().sorted { a, b in
            if a.element.name == b.element.name { return a.offset < b.offset }
            return a.element.name.lexicographicallyPrecedes(b.element.name)
        }
        return replacingQuery(sorted.isEmpty ? nil : sorted.map(\.element.text).joined(separator: "&"))
    }
}
