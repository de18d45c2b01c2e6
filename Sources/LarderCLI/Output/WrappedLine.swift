// SPDX-License-Identifier: Apache-2.0

/// Long lines for people, which go on below the place where their text begins.
enum WrappedLine {
    /// `line` in as many as it takes for `width` characters; words that are longer stay whole.
    ///
    /// - Parameters:
    ///   - width: nil where the output is no terminal, which gets one line.
    ///   - hang: where the text begins; by default behind blanks, marks of lists and columns.
    static func text(_ line: String, width: Int?, hang: Int? = nil) -> String {
        guard let width, line.count > width else { return line }
        let hang = hang ?? beginning(of: line, width)
        let margin = String(repeating: " ", count: hang)
        var (lines, last, isEmpty) = ([String](), String(line.prefix(hang)), true)
        for word in line.dropFirst(hang).split(separator: " ") {
            if !isEmpty, last.count + 1 + word.count > width, hang + word.count <= width {
                lines.append(last)
                (last, isEmpty) = (margin, true)
            }
            last += (isEmpty ? "" : " ") + word
            isEmpty = false
        }
        return (lines + [last]).joined(separator: "\n")
    }

    /// The index where the text of a line begins: after its last gap of two blanks or more in the first half.
    private static func beginning(of line: String, _ width: Int) -> Int {
        let characters = Array(line.prefix(width / 2))
        let indent = characters.prefix { $0 == " " }.count
        let mark = characters.dropFirst(indent).prefix { $0 != " " }
        let isMark =
            mark.count == 1 && "-*".contains(mark) || mark.last == "." && mark.dropLast().allSatisfy(\.isNumber)
        let gap = characters.indices.last { index in
            index > indent + 1 && characters[index] != " " && characters[index - 1] == " "
                && characters[index - 2] == " "
        }
        return gap ?? (isMark ? indent + mark.count + 1 : indent)
    }
}
