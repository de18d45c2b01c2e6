// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderAdmin
import LarderHTTP

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

    /// Passes the content of a successful response on as it comes, up to where it ends or breaks off.
    private func receive(_ target: String, take: (ArraySlice<UInt8>) throws -> Void) throws {
        do {
            let stream = try connect(seconds: patience, mayUseTCP: false, mayOpenLanes: false)
            try stream.send("GET", target, ["Accept: application/problem+json"])
            var response = try PlainResponse(on: stream)
            guard response.head.status == 200 else {
                _ = try advised(response.answer()).successfulContent()
                throw AdminClient.noDaemon
            }
            while true {
                let octets = try response.receive()
                if octets.isEmpty { return }
                try take(octets[...])
            }
        } catch PlainStream.Failure.endedEarly {
            // The archive is not whole, which its reader tells.
        } catch let failure as PlainStream.Failure {
            throw self.failure(failure)
        }
    }

    /// Sends a file and returns the response.
    func upload(_ file: ImportedFile, _ target: String, tell: (Int) -> Void) throws -> JSONValue {
        do {
            let stream = try connect(seconds: patience, mayUseTCP: false, mayOpenLanes: false)
            let framing = file.length.map { "Content-Length: \($0)" } ?? "Transfer-Encoding: chunked"
            try stream.send("POST", target, ["Accept: application/json", "Content-Type: application/x-tar", framing])
            do {
                try send(file, on: stream, tell: tell)
            } catch PlainStream.Failure.transfer(let code) where code == EPIPE || code == ECONNRESET {
                // The daemon has said why.
            }
            var response = try PlainResponse(on: stream, to: .post)
            return try JSONValue(parsing: advised(response.answer()).successfulContent())
        } catch let failure as PlainStream.Failure {
            throw self.failure(failure)
        }
    }

    private func send(_ file: ImportedFile, on stream: borrowing PlainStream, tell: (Int) -> Void) throws {
        let isChunked = file.length == nil
        var left = file.length ?? .max
        while left > 0 {
            let octets = try file.read(atMost: min(left, 256 << 10))
            if octets.isEmpty { break }
            left -= octets.count
            var part: [UInt8] = []
            if isChunked { MessageWriter.appendChunkStart(count: octets.count, to: &part) }
            part += octets
            if isChunked { MessageWriter.appendChunkEnd(to: &part) }
            try stream.send(part)
            tell(octets.count)
        }
        guard isChunked else { return }
        var end: [UInt8] = []
        MessageWriter.appendLastChunk(to: &end)
        try stream.send(end)
    }
}
