// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The owner of a connection of this machine, by what the kernel lists (proc_net(5)).
package enum SocketOwner {
    /// The number of every user whom the process's user namespace does not map (user_namespaces(7)), and of `nobody`: no
    /// two of them can be told apart.
    package static let unknown: UInt32 = 65_534

    /// The user who holds the end of a TCP connection that `local` is the address of; nil if it is not known. It reads
    /// files whose length grows with the machine's connections.
    package static func user(of local: SocketAddress, to remote: SocketAddress) -> UInt32? {
        for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
            guard let file = fopen(path, "re") else { continue }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 512)
            while fgets(&line, Int32(line.count), file) != nil {
                let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                if let user = user(in: text, local, remote) { return user }
            }
        }
        return nil
    }

    /// The user that a line names, if it is about that connection.
    static func user(in line: String, _ local: SocketAddress, _ remote: SocketAddress) -> UInt32? {
        let words = line.split { $0 == " " || $0 == "\n" }
        guard words.count > 7, names(words[1], local), names(words[2], remote) else { return nil }
        return UInt32(words[7])
    }

    /// Whether `text` is an IPv4 address with a port as the kernel writes them, mapped into IPv6 or not: octets in
    /// groups of four, each in the order of this machine.
    private static func names(_ text: Substring, _ address: SocketAddress) -> Bool {
        guard let colon = text.lastIndex(of: ":"), UInt16(text[text.index(after: colon)...], radix: 16) == address.port
        else { return false }
        var digits = text[..<colon]
        if digits.count == 32 {
            guard digits.hasPrefix("0000000000000000FFFF0000") else { return false }
            digits = digits.dropFirst(24)
        }
        guard digits.count == 8, let value = UInt32(digits, radix: 16) else { return false }
        let octets = withUnsafeBytes(of: value) { Array($0) }
        return octets.map(String.init).joined(separator: ".") == address.host
    }
}
