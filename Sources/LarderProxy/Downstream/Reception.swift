// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// What became of what a client sent, as far as no task is needed for it.
enum Reception {
    /// It has sent nothing yet.
    case nothing
    /// It has ended its side, or the connection broke.
    case ended
    /// What it sent, which is not known here. In the loop's scratch memory: to be copied before anything else is read.
    case octets(UnsafeRawBufferPointer)
    /// It got its answer, but for what the kernel did not take yet. After the last one the connection is to be closed;
    /// our side of it has ended already if there is no rest.
    case answered(isLast: Bool, rest: [UInt8])

    /// Whether nothing is left to do but to close the connection.
    var isAll: Bool {
        switch self {
        case .ended: true
        case .answered(let isLast, let rest): isLast && rest.isEmpty
        case .nothing, .octets: false
        }
    }
}

extension LoopContext {
    /// Whether an answer from memory that begins now is told to those who watch, which takes an exchange.
    private func isHitNoted(at now: Int64) -> Bool {
        requests.isWatched(at: now) && noteBudget.hasRoom(at: now)
    }

    /// Reads what a client has sent, and answers it at once if the loop's front knows the answer.
    ///
    /// - Parameter kind: nil where the front has no answers.
    func receive(on stream: ByteStream, from kind: ClientKind?) -> Reception {
        let began = loop.monotonicHere()
        let request: UnsafeRawBufferPointer
        do throws(IOError) {
            guard let count = try stream.tryRead(into: scratch) else { return .nothing }
            guard count > 0 else { return .ended }
            request = UnsafeRawBufferPointer(rebasing: scratch[..<count])
        } catch {
            return .ended
        }
        guard let kind, request.count < scratch.count, !isDraining, !configuration.settings.log.access,
            !isHitNoted(at: began), let answer = front.answer(to: request, from: kind, at: now())
        else { return .octets(request) }
        let rest: [UInt8]
        do throws(IOError) {
            rest = try stream.writeAtOnce(answer)
        } catch {
            return .ended
        }
        if answer.closes, rest.isEmpty { stream.shutdownWrite() }
        counters.add(.answeredAtOnce)
        counters.add(.saved, answer.contentLength)
        counters.add(.sent, answer.contentLength)
        let took = loop.time.monotonic() - began
        counters.count(.hit, latency: took)
        answer.counters.count(.hit, latency: took, sent: answer.contentLength)
        return .answered(isLast: answer.closes, rest: rest)
    }
}
