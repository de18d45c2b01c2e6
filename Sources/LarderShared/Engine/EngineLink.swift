// SPDX-License-Identifier: Apache-2.0
import DequeModule
package import LarderIO

/// An open connection to a node: commands go out in order, and replies come in the same order. Confined to its loop.
///
/// It ends with the first error: all waiting tasks get it, and `ended` is called, once.
package final class EngineLink {
    private let loop: EventLoop
    private let stream: ByteStream
    private let reader: ReplyReader
    private let ended: (EngineLink, String) -> Void
    private var waiting = Deque<PendingReply>()
    private var output: [UInt8] = []
    private var isWriting = false
    private(set) var isOpen = true

    /// Bytes that may wait to be sent.
    package static let outputLimit = 16 << 20
    private static let bufferSize = 64 << 10

    package init(
        _ stream: ByteStream, on loop: EventLoop, limits: ReplyReader.Limits = ReplyReader.Limits(),
        ended: @escaping (EngineLink, String) -> Void
    ) {
        self.loop = loop
        self.stream = stream
        self.ended = ended
        reader = ReplyReader(limits: limits)
    }

    /// Begins to read. The task keeps the link until it ends.
    package func start() { loop.startHere { await self.receive() } }

    package func send(_ command: Command, _ reply: PendingReply) {
        guard isOpen else {
            reply.settle(.failure(.closed))
            return
        }
        guard output.count <= EngineLink.outputLimit else {
            reply.settle(.failure(.overloaded))
            return
        }
        command.append(to: &output)
        waiting.append(reply)
    }

    /// Writes the commands sent since the last call.
    package func flush() {
        guard isOpen, !isWriting, !output.isEmpty else { return }
        isWriting = true
        loop.startHere { await self.write() }
    }

    package func close() { end("closed on our side", .closed) }

    private func write() async {
        while isOpen, !output.isEmpty {
            let octets = output
            output = []
            do throws(IOError) {
                try await stream.write(octets)
            } catch {
                end("\(error)")
            }
        }
        isWriting = false
    }

    private func receive() async {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: EngineLink.bufferSize, alignment: 16)
        defer { buffer.deallocate() }
        while isOpen {
            do throws(IOError) {
                let count = try await stream.read(into: buffer)
                guard count > 0 else { return end("the engine closed the connection") }
                take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            } catch {
                end("\(error)")
            }
        }
    }

    private func take(_ octets: UnsafeRawBufferPointer) {
        do throws(ReplyReader.Malformed) {
            for reply in try reader.read(octets) {
                guard let pending = waiting.popFirst() else { return end("the engine replied to nothing") }
                pending.settle(.success(reply))
            }
        } catch {
            end("the engine does not speak RESP2: \(error.reason)")
        }
    }

    private func end(_ reason: String, _ failure: EngineFailure? = nil) {
        guard isOpen else { return }
        isOpen = false
        stream.close()
        let left = waiting
        waiting = []
        output = []
        for pending in left { pending.settle(.failure(failure ?? .unreachable(reason))) }
        ended(self, reason)
    }
}
