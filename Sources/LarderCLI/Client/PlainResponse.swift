// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderHTTP

/// A response on a blocking connection, parsed by the parsers for origins' responses.
struct PlainResponse: ~Copyable {
    private(set) var head = ResponseHead()
    private let stream: PlainStream
    private var decoder = FramingDecoder(.none)
    /// Bytes that were received and not decoded yet.
    private var received: [UInt8] = []

    /// Reads the head of the response to a request of that method, which was sent on `stream`.
    ///
    /// - Parameters:
    ///   - silence: told to a person while nothing comes.
    ///   - mayGoOn: asked when the stream's time is over; true to wait as long again.
    init(
        on stream: consuming PlainStream, to method: Method = .get,
        telling silence: String? = "no answer yet; waiting for up to \(AdminClient.patience) s",
        while mayGoOn: () -> Bool = { false }
    ) throws(PlainStream.Failure) {
        self.stream = stream
        var parser = ResponseHeadParser()
        let isTold = if let silence { self.stream.showSilence(silence) } else { false }
        defer { if isTold { Terminal.writeProgress(nil) } }
        repeat {
            while try !readHead(&parser) {
                let octets = try receive(while: mayGoOn)
                guard !octets.isEmpty else { throw .endedEarly }
                received += octets
            }
        } while head.status.isInterim
        do throws(ParseError) {
            decoder = FramingDecoder(try BodyFraming(response: head, to: method))
        } catch {
            throw .malformed
        }
    }

    private func receive(while mayGoOn: () -> Bool) throws(PlainStream.Failure) -> [UInt8] {
        while true {
            do throws(PlainStream.Failure) {
                return try stream.receive()
            } catch {
                guard case .transfer(EAGAIN) = error, mayGoOn() else { throw error }
            }
        }
    }

    /// True if a head is complete.
    private mutating func readHead(_ parser: inout ResponseHeadParser) throws(PlainStream.Failure) -> Bool {
        let octets = received
        let result: HeadParseResult
        do throws(ParseError) {
            result = try parser.parse(octets.span.bytes, into: &head)
        } catch {
            throw .malformed
        }
        guard case .complete(let consumed) = result else { return false }
        received.removeFirst(consumed)
        return true
    }

    /// The next bytes of the content, at least one; none at its end.
    mutating func receive() throws(PlainStream.Failure) -> [UInt8] {
        while true {
            let octets = received
            var content: [UInt8] = []
            do throws(ParseError) {
                _ = try decoder.decode(octets.span.bytes) { content.append(contentsOf: octets[$0]) }
            } catch {
                throw .malformed
            }
            received = []
            if !content.isEmpty || decoder.isComplete { return content }
            received = try stream.receive()
            guard received.isEmpty else { continue }
            if decoder.framing == .untilClose { return [] }
            throw .endedEarly
        }
    }

    /// The response with all of its content.
    mutating func answer(limit: Int = AdminClient.answerLimit) throws(PlainStream.Failure) -> AdminAnswer {
        var content: [UInt8] = []
        while true {
            let octets = try receive()
            if octets.isEmpty {
                let wantsToken = head.fields["WWW-Authenticate"]?.hasPrefix("Bearer") == true
                return AdminAnswer(status: Int(head.status.rawValue), content: content, wantsToken: wantsToken)
            }
            guard content.count + octets.count <= limit else { throw .tooLarge }
            content += octets
        }
    }
}
