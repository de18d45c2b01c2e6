// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The system's table of hosts: a line for each address, with the names it has (hosts(5)).
struct HostsFile {
    /// More than this is no table anybody wrote by hand; the rest is left out.
    private static let sizeLimit = 8 << 20

    /// The addresses of each name in lower case, IPv6 first. The port is 0.
    private(set) var addresses: [String: [SocketAddress]] = [:]

    init(path: String) { self.init(Self.read(path)) }

    init(_ octets: [UInt8]) {
        for line in octets.split(separator: UInt8(ascii: "\n")) {
            let words = line.prefix { $0 != UInt8(ascii: "#") }.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            guard words.count > 1, let address = SocketAddress(host: String(decoding: words[0], as: UTF8.self), port: 0)
            else { continue }
            for word in words.dropFirst() {
                add(address, to: String(decoding: word, as: UTF8.self).lowercased())
            }
        }
    }

    private mutating func add(_ address: SocketAddress, to name: String) {
        var known = addresses[name] ?? []
        guard !known.contains(address), known.count < 64 else { return }
        known.insert(address, at: address.isIPv6 ? known.prefix(while: \.isIPv6).count : known.count)
        addresses[name] = known
    }

    private static func read(_ path: String) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while all.count < sizeLimit {
            let count = Glibc.read(file, &buffer, buffer.count)
            guard count > 0 else { break }
            all += buffer[..<count]
        }
        return all
    }
}
