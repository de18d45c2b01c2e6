// SPDX-License-Identifier: Apache-2.0

package import Larder

/// The catalogue as a JSON Schema (2020-12), with which editors complete and check configurations.
///
/// It covers shapes, words, numbers and units. Dependencies on other settings, and further constraints on texts, are
/// checked by `larder check`.
package enum SettingsSchema {
    package static var json: JSONValue {
        var root: JSONObject = [
            "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Configuration of Larder",
            "description": "etc/larder.schema.json, made by `larder settings --json-schema`.",
        ]
        let section = section(SettingsCatalogue.descriptions)
        for name in section.names { root[name] = section[name] }
        root["$defs"] = ["reference": ["type": "string", "pattern": #"\$\{[^}]*\}"#]]
        return .object(root)
    }

    // MARK: Maps

    /// The schema of a map, with a nested map for each dot in the names.
    private static func section(_ settings: [SettingDescription]) -> JSONObject {
        var properties = JSONObject()
        var required: [String] = []
        var groups: [(name: String, settings: [SettingDescription])] = []
        for setting in settings {
            let parts = setting.name.split(separator: ".", maxSplits: 1).map(String.init)
            guard parts.count == 2 else {
                properties[setting.name] = value(of: setting)
                if let short = setting.shortKey { properties[short] = value(of: setting) }
                if setting.isRequired { required.append(setting.name) }
                continue
            }
            var inner = setting
            inner.name = parts[1]
            if let index = groups.firstIndex(where: { $0.name == parts[0] }) {
                groups[index].settings.append(inner)
            } else {
                groups.append((parts[0], [inner]))
            }
        }
        // The settings within a setting that is a map or a word are listed below its name (`afterWrite.action`).
        for group in groups {
            properties[group.name] = .object(section(group.settings))
        }
        var object: JSONObject = [
            "type": ["object", "null"], "additionalProperties": false, "properties": .object(properties),
        ]
        if !required.isEmpty { object["required"] = .array(required.map { .string($0) }) }
        return object
    }

    private static func map(of element: JSONValue, names: String? = nil) -> JSONObject {
        var object: JSONObject = ["type": ["object", "null"], "additionalProperties": element]
        if let names { object["propertyNames"] = ["pattern": .string(names)] }
        return object
    }

    // MARK: Values

    private static func value(of setting: SettingDescription) -> JSONValue {
        var schema = shape(of: setting)
        schema["description"] = .string(setting.text)
        if !setting.isInitiallyInWords, setting.type != "secret" { schema["default"] = initially(setting) }
        return .object(schema)
    }

    /// The default as it would be written; much of that is JSON.
    private static func initially(_ setting: SettingDescription) -> JSONValue {
        (try? JSONValue(parsing: Array(setting.initially.utf8))) ?? .string(setting.initially)
    }

    private static func shape(of setting: SettingDescription) -> JSONObject {
        switch setting.type {
        case "map of services":
            return map(of: .object(section(setting.inside)), names: "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
        case "map of variables": return map(of: .object(section(setting.inside)))
        case "list of blocks", "list of routes":
            return ["type": ["array", "null"], "items": .object(section(setting.inside))]
        case let type where type.hasPrefix("list of "): return list(of: item(type, setting.bounds))
        case let type where !setting.inside.isEmpty || type.contains(", or map"): return choice(setting)
        case let type where type.hasPrefix("map"): return ["type": ["object", "null"]]
        default: return scalar(setting.type, setting.bounds)
        }
    }

    /// A list, or one item alone.
    private static func list(of item: JSONObject) -> JSONObject {
        ["anyOf": [["type": "array", "items": .object(item)], .object(item)]]
    }

    private static func item(_ list: String, _ bounds: String?) -> JSONObject {
        switch list {
        case "list of words": scalar("word", bounds)
        case "list of ports": ["type": ["integer", "string"]]
        case "list of statuses", "list of causes": ["type": ["integer", "string"]]
        // Some are a map with one key, as `cookie: NAME`.
        case "list of identifiers", "list of directives": ["type": ["string", "object"]]
        default: ["type": "string"]
        }
    }

    /// A setting that is a map or a word.
    private static func choice(_ setting: SettingDescription) -> JSONObject {
        var kinds: [JSONValue] = [["type": ["string", "number", "null"]]]
        kinds.append(setting.inside.isEmpty ? ["type": "object"] : .object(section(setting.inside)))
        return ["anyOf": .array(kinds)]
    }

    private static func scalar(_ type: String, _ bounds: String?) -> JSONObject {
        let reference: JSONValue = ["$ref": "#/$defs/reference"]
        switch type {
        case "number", "status":
            var number: JSONObject = ["type": "integer"]
            let ends = (bounds ?? "").split(separator: " ").compactMap { Int($0) }
            if ends.count == 2 {
                number["minimum"] = .number(JSONNumber(ends[0]))
                number["maximum"] = .number(JSONNumber(ends[1]))
            }
            return ["anyOf": [.object(number), reference]]
        case "share": return ["anyOf": [["type": "number", "minimum": 0, "maximum": 1], reference]]
        case "switch": return ["anyOf": [["type": "boolean"], ["enum": ["on", "off", "yes", "no"]], reference]]
        case "word":
            let words = (bounds ?? "").split(separator: ",").map { String($0.drop { $0 == " " }) }
            var kinds: [JSONValue] = [["enum": .array(words.map { .string($0) })], reference]
            // YAML 1.1 parses these words as booleans.
            if words.contains("on") || words.contains("off") { kinds.append(["type": "boolean"]) }
            return ["anyOf": .array(kinds)]
        case "duration": return quantity(UnitText.duration, reference)
        case "size": return quantity(UnitText.size, reference)
        case "file mode": return ["type": ["string", "integer"]]
        default: return ["type": "string"]
        }
    }

    private static func quantity(_ units: UnitText, _ reference: JSONValue) -> JSONObject {
        let names = units.units.map(\.name).joined(separator: "|")
        return [
            "anyOf": [
                ["const": 0], ["type": "string", "pattern": .string("^(0|[0-9]+(\\.[0-9]+)? *(\(names)))$")], reference,
            ]
        ]
    }
}
