// SPDX-License-Identifier: Apache-2.0

/// One reader of bytes that peers send, and lines that make it look for something again and again.
///
/// `Scanner.all` is the list of them: `scripts/scanners` writes the table of docs/threat-model.md from it, and complains
/// about sources that read bytes of peers and are named by no scanner.
struct Scanner: Sendable {
    /// The input, as the table calls it.
    let name: String
    /// The sources that read it: files or folders below `Sources`.
    let sources: [String]
    /// Units that the input repeats.
    let lines: [String]
    /// The bytes before the first unit.
    let opening: String
    /// The longest input that the daemon reads, in bytes.
    let limit: Int
    let read: @Sendable ([UInt8]) -> Void

    init(
        _ name: String, in sources: [String], _ lines: [String], opening: String = "", limit: Int = 64 << 10,
        _ read: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.name = name
        self.sources = sources
        self.lines = lines
        self.opening = opening
        self.limit = limit
        self.read = read
    }

    static let all = messages + fields + content + gateway + archives

    /// `count` bytes of `line`, again and again.
    func input(_ line: String, count: Int) -> [UInt8] {
        let (line, opening) = (Array(line.utf8), Array(opening.utf8))
        var input = opening
        input.reserveCapacity(count + line.count)
        while input.count < count { input += line }
        return input
    }
}
