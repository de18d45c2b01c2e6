// SPDX-License-Identifier: Apache-2.0
import CHiredis

/// A command to the engine: its words, and the key that says which node of a cluster it is for.
package struct Command: Sendable, Equatable {
    package let words: [[UInt8]]
    /// Nil for a command that any node answers.
    package let key: [UInt8]?

    package init(_ words: [[UInt8]], key: [UInt8]? = nil) {
        self.words = words
        self.key = key
    }

    /// - Parameter key: the index of the word that is the key.
    package init(_ words: String..., key: Int? = nil) {
        self.init(words.map { Array($0.utf8) }, key: key.map { Array(words[$0].utf8) })
    }

    /// The bytes that are sent (RESP2).
    package var octets: [UInt8] {
        var out: [UInt8] = []
        append(to: &out)
        return out
    }

    /// Appends the bytes that are sent.
    package func append(to out: inout [UInt8]) {
        let all = words.flatMap { $0 }
        let lengths = words.map(\.count)
        all.withUnsafeBytes { octets in
            var starts: [UnsafePointer<CChar>?] = []
            // An empty run has no address, and hiredis copies nothing from it.
            let base = octets.baseAddress?.assumingMemoryBound(to: CChar.self)
            var offset = 0
            for length in lengths {
                starts.append(base.map { $0 + offset })
                offset += length
            }
            var formatted: UnsafeMutablePointer<CChar>?
            let count = redisFormatCommandArgv(&formatted, Int32(lengths.count), &starts, lengths)
            defer { redisFreeCommand(formatted) }
            guard count > 0, let formatted else { return }
            out.append(contentsOf: UnsafeRawBufferPointer(start: formatted, count: Int(count)))
        }
    }
}
