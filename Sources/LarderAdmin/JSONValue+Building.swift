// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP

extension JSONValue {
    static func integer(_ value: some BinaryInteger) -> JSONValue { .number(JSONNumber(Int(clamping: value))) }

    /// A number with at most that many decimal places; null where JSON has no such number.
    static func decimal(_ value: Double, places: Int) -> JSONValue {
        let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
        return JSONNumber((value * scale).rounded() / scale).map { .number($0) } ?? .null
    }

    static func strings(_ values: [String]) -> JSONValue { .array(values.map { .string($0) }) }

    /// An instant in the form of RFC 3339, to the second.
    static func time(_ time: Timestamp) -> JSONValue { .string(ISOTime.string(time)) }

    /// A duration in seconds, to the millisecond.
    static func seconds(_ duration: Duration) -> JSONValue { .decimal(duration.inSeconds, places: 3) }

    /// The value over several lines, for people and programs alike; short lists and objects stay on one.
    package var pretty: [UInt8] {
        var text = ""
        write(to: &text, indent: 0)
        return Array((text + "\n").utf8)
    }

    private func write(to text: inout String, indent: Int) {
        let line = description
        let isShort = line.utf8.count + indent <= 100
        let margin = String(repeating: " ", count: indent + 2)
        switch self {
        case .object(let object) where !object.isEmpty && !(isShort && indent > 0):
            text += "{\n"
            for (index, name) in object.names.enumerated() {
                text += margin + JSONValue.string(name).description + ": "
                object[name]?.write(to: &text, indent: indent + 2)
                text += index + 1 < object.count ? ",\n" : "\n"
            }
            text += margin.dropLast(2) + "}"
        case .array(let elements) where !elements.isEmpty && !isShort:
            text += "[\n"
            for (index, element) in elements.enumerated() {
                text += margin
                element.write(to: &text, indent: indent + 2)
                text += index + 1 < elements.count ? ",\n" : "\n"
            }
            text += margin.dropLast(2) + "]"
        default: text += line
        }
    }
}

extension Duration {
    /// In seconds with their fraction.
    var inSeconds: Double { Double(wholeNanoseconds) / 1e9 }
}
