// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderAdmin

extension AdminClient {
    /// Writes an export to a file and returns its summary.
    func download(_ target: String, to file: ExportedFile, tell: (Int) -> Void) throws -> JSONValue {
        var reader = TarReader()
        var name = ""
        var summary: [UInt8] = []
        var isWhole = false
        func take(_ octets: ArraySlice<UInt8>) throws {
            try file.write(octets)
            tell(octets.count)
            reader.feed(octets)
            while let event = try reader.next() {
                switch event {
                case .file(let next, _): name = next
                case .octets(let octets) where name == "summary.json": summary += octets
                case .end: isWhole = true
                case .octets, .endOfFile: break
                }
            }
        }
        try receive(target, take: take)
        guard isWhole, let json = try? JSONValue(parsing: summary) else {
            throw CommandFailure("the daemon broke the export off; it is not whole", advice: "see its log")
        }
        return json
    }

    /// Passes the content of a successful response on as it comes.
    private func receive(_ target: String, take: (ArraySlice<UInt8>) throws -> Void) throws {
        var head: [UInt8] = []
        var isSuccess: Bool?
        do {
            let stream = try connect(seconds: AdminClient.patience, mayUseTCP: false, mayOpenLanes: false)
            let fields = "Host: \(stream.host)\r\nAccept: application/problem+json\r\n\r\n"
            try stream.send(Array("GET \(target) HTTP/1.0\r\n\(fields)".utf8))
            while true {
                let octets = try stream.receive()
                if octets.isEmpty { break }
                if isSuccess == true {
                    try take(octets[...])
                    continue
                }
                head += octets
                guard head.count < 1 << 20 else { break }
                guard isSuccess == nil, let end = head.firstRange(of: Array("\r\n\r\n".utf8)) else { continue }
                let words = head.prefix { $0 != 0x0D }.split(separator: 0x20)
                isSuccess = words.count > 1 && words[1].elementsEqual("200".utf8)
                if isSuccess == true { try take(head[end.upperBound...]) }
            }
        } catch let failure as PlainStream.Failure {
            throw self.failure(failure)
        }
        guard isSuccess != true else { return }
        _ = try AdminAnswer(head).successfulContent()
        throw CommandFailure("what answers is not a Larder daemon", advice: "see its log")
    }

    /// Sends a file and returns the response.
    func upload(_ file: ImportedFile, _ target: String, tell: (Int) -> Void) throws -> JSONValue {
        let answer: [UInt8]
        do {
            let stream = try connect(seconds: AdminClient.patience, mayUseTCP: false, mayOpenLanes: false)
            let framing = file.length.map { "Content-Length: \($0)" } ?? "Transfer-Encoding: chunked"
            let head =
                "POST \(target) HTTP/1.1\r\nHost: \(stream.host)\r\nConnection: close\r\n"
                + "Accept: application/json\r\nContent-Type: application/x-tar\r\n\(framing)\r\n\r\n"
            try stream.send(Array(head.utf8))
            do {
                try send(file, on: stream, tell: tell)
            } catch PlainStream.Failure.transfer(let code) where code == EPIPE || code == ECONNRESET {
                // The daemon has said why.
            }
            answer = try stream.receiveAll(limit: AdminClient.answerLimit)
        } catch let failure as PlainStream.Failure {
            throw self.failure(failure)
        }
        return try JSONValue(parsing: AdminAnswer(answer).successfulContent())
    }

    private func send(_ file: ImportedFile, on stream: borrowing PlainStream, tell: (Int) -> Void) throws {
        let isChunked = file.length == nil
        var left = file.length ?? .max
        while left > 0 {
            let octets = try file.read(atMost: min(left, 256 << 10))
            if octets.isEmpty { break }
            left -= octets.count
            let size = Array("\(String(octets.count, radix: 16))\r\n".utf8)
            try stream.send(isChunked ? size + octets + [0x0D, 0x0A] : octets)
            tell(octets.count)
        }
        if isChunked { try stream.send(Array("0\r\n\r\n".utf8)) }
    }
}
