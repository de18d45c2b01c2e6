// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderSettings

/// The outcome of receiving from a client, as far as no task is needed for it.
enum Reception {
    /// There is no input yet.
    case nothing
    /// The client has ended its side, or the connection broke.
    case ended
    /// Input without a cached reply. In the loop's scratch memory: to be copied before anything else is read.
    case octets(UnsafeRawBufferPointer)
    /// A cached reply was sent, except for the bytes the kernel did not accept yet. After the last reply the
    /// connection is to be closed; if there is no rest, our side of it has ended already.
    case answered(isLast: Bool, rest: [UInt8])

    /// True if the connection only remains to be closed.
    var isAll: Bool {
        switch self {
        case .ended: true
        case .answered(let isLast, let rest): isLast && rest.isEmpty
        case .nothing, .octets: false
        }
    }
}

extension LoopContext {
    /// True if a hit that begins now is reported to observers, which needs an exchange.
    private func isHitNoted(at now: Int64) -> Bool {
        requests.isWatched(at: now) && noteBudget.hasRoom(at: now)
    }

    /// True if the client may have a reply to a request with these credentials. Where anybody guesses passwords too
    /// often, a reply is an answer to a guess, and those who have proved nothing on the connection are examined.
    private func mayHave(_ answer: CachedReply, _ proof: Proof?, at now: Int64) -> Bool {
        guard let credentials = answer.credentials, proxy.passwords.isAnyoneLimited(at: now) else { return true }
        return proof?.credentials == credentials
    }

    /// Receives from a client, and sends a cached reply at once if there is one.
    ///
    /// - Parameters:
    ///   - kind: nil where there are no cached replies.
    ///   - proof: the credentials that were right on the connection.
    func receive(on stream: ByteStream, from kind: ClientKind?, _ proof: Proof? = nil) -> Reception {
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
            !isHitNoted(at: began), tracer?.begins() != true,
            let answer = requestCache.answer(to: request, from: kind, at: now()), mayHave(answer, proof, at: began)
        else { return .octets(request) }
        // Before the client can know of it.
        counters.add(.answeredAtOnce)
        let rest: [UInt8]
        do throws(IOError) {
            rest = try stream.writeAtOnce(answer)
        } catch {
            return .ended
        }
        tracer?.decided()
        if answer.closes, rest.isEmpty { stream.shutdownWrite() }
        counters.add(.saved, answer.contentLength)
        counters.add(.sent, answer.contentLength)
        let took = loop.time.monotonic() - began
        counters.count(.hit, latency: took)
        answer.counters.count(.hit, latency: took, sent: answer.contentLength)
        return .answered(isLast: answer.closes, rest: rest)
    }
}
