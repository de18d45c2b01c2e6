// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import LarderIO

/// A name server on this machine that knows what a test tells it, and the files that name it.
final class FakeNameServer: Sendable {
    enum Reply: Sendable {
        case addresses(ipv4: [UInt32], ipv6: [(UInt64, UInt64)])
        case noSuchName
        case failure
        case silence
        /// These addresses, and silence about the other family.
        case ipv6Alone([(UInt64, UInt64)])
    }

    let directory: String
    private let descriptor: Int32
    private let thread: Thread
    private let asked = Lock<[String]>([])

    /// - Parameters:
    ///   - hosts: the content of the hosts file.
    ///   - delay: called with each question, as `A name`, before it is answered; questions are answered in turn.
    init(
        hosts: String = "", delay: @escaping @Sendable (String) -> Void = { _ in },
        _ reply: @escaping @Sendable (String) -> Reply
    ) throws {
        let descriptor = socket(AF_INET, SocketKind.datagram, 0)
        self.descriptor = descriptor
        let bound = SocketAddress.loopback(port: 0).bind(descriptor)
        try #require(bound == 0)
        directory = try Self.directory(
            resolverConfiguration: "nameserver \(SocketAddress.of(descriptor, ask: getsockname))\n", hosts: hosts)
        let asked = asked
        thread = try Thread.start(name: "name server") {
            while Self.answerOne(descriptor, delay, reply, asked) {}
        }
    }

    deinit {
        // Four octets end the thread.
        let address = SocketAddress.of(descriptor, ask: getsockname)
        let stop = socket(AF_INET, SocketKind.datagram, 0)
        _ = address.withSystemAddress { sendto(stop, "stop", 4, 0, $0, $1) }
        close(stop)
        thread.join()
        close(descriptor)
        Self.remove(directory)
    }

    /// The questions so far, as `A name` and `AAAA name`.
    var questions: [String] { asked.withLock { $0 } }

    var files: Resolver.Files { Self.files(in: directory) }

    static func files(in directory: String) -> Resolver.Files {
        var files = Resolver.Files()
        files.resolverConfiguration = directory + "/resolv.conf"
        files.hosts = directory + "/hosts"
        return files
    }

    static func directory(resolverConfiguration: String?, hosts: String = "") throws -> String {
        var template = Array("/tmp/larder-dns-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } }
        let directory = String(cString: try #require(made))
        if let resolverConfiguration { write(resolverConfiguration, to: directory + "/resolv.conf") }
        write(hosts, to: directory + "/hosts")
        return directory
    }

    static func write(_ text: String, to path: String) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        let octets = Array(text.utf8)
        _ = Glibc.write(file, octets, octets.count)
        close(file)
    }

    static func remove(_ directory: String) {
        unlink(directory + "/resolv.conf")
        unlink(directory + "/hosts")
        rmdir(directory)
    }

    private static func answerOne(
        _ descriptor: Int32, _ delay: (String) -> Void, _ reply: (String) -> Reply, _ asked: Lock<[String]>
    ) -> Bool {
        var query = [UInt8](repeating: 0, count: 512)
        var count = 0
        let client = SocketAddress.received { address, length in
            count = recvfrom(descriptor, &query, 512, 0, address, length)
            return count >= 0
        }
        // The evdns probe for a dead server on this machine is empty; the request to stop has four octets.
        guard let client, count != 4 else { return false }
        guard count > 12 else { return true }
        let (name, end) = self.name(in: query)
        let isIPv6 = query[end + 1] == 28
        let asking = (isIPv6 ? "AAAA " : "A ") + name
        asked.withLock { $0.append(asking) }
        delay(asking)
        guard let answer = self.answer(reply(name), to: Array(query[..<(end + 4)]), isIPv6: isIPv6) else { return true }
        _ = client.withSystemAddress { sendto(descriptor, answer, answer.count, 0, $0, $1) }
        return true
    }

    private static func name(in query: [UInt8]) -> (String, end: Int) {
        var labels: [String] = []
        var position = 12
        while query[position] != 0 {
            let length = Int(query[position])
            labels.append(Array(query[(position + 1)..<(position + 1 + length)]).text)
            position += 1 + length
        }
        return (labels.joined(separator: ".").lowercased(), position + 1)
    }

    private static func answer(_ reply: Reply, to question: [UInt8], isIPv6: Bool) -> [UInt8]? {
        var message = question
        var code: UInt8 = 0
        var records: [[UInt8]] = []
        switch reply {
        case .silence: return nil
        case .ipv6Alone(let ipv6):
            guard isIPv6 else { return nil }
            records = ipv6.map { octets($0.0) + octets($0.1) }
        case .noSuchName: code = 3
        case .failure: code = 2
        case .addresses(let ipv4, let ipv6):
            records =
                isIPv6
                ? ipv6.map { octets($0.0) + octets($0.1) } : ipv4.map { Array(octets(UInt64($0)).suffix(4)) }
        }
        message[2] = 0x81
        message[3] = 0x80 | code
        message[6] = 0
        message[7] = UInt8(records.count)
        for record in records {
            message += [0xC0, 12, 0, isIPv6 ? 28 : 1, 0, 1, 0, 0, 0, 60, 0, UInt8(record.count)] + record
        }
        return message
    }

    private static func octets(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
