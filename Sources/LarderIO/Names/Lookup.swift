// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// The addresses of a host, IPv6 first.
struct HostAddresses {
    var addresses: [SocketAddress]
    /// True if no more will come: both families have been answered, or are not waited for any longer.
    var areAll: Bool
}

/// A look-up of one name in both address families, and all callers that wait for it.
///
/// Callers get the addresses of one family when the other is slow; the look-up goes on, for callers that cannot do with
/// those and for the next ones.
final class Lookup {
    typealias Answer = Result<HostAddresses, IOError>

    /// A caller that waits for the answer.
    struct Caller {
        let number: UInt64
        /// True if both families are needed.
        let needsAll: Bool
        let continuation: UnsafeContinuation<Answer, Never>
        /// Ends its wait.
        var timer: Timer?

        fileprivate func resume(returning answer: Answer) {
            timer?.cancel()
            continuation.resume(returning: answer)
        }
    }

    /// How long to wait for the slower family once the other has answered (RFC 8305 §3).
    private static let patience = Duration.milliseconds(50)

    let name: String
    /// Later ones have greater numbers.
    let number: UInt64
    private var waiting: [Caller]
    private let servers: NameServers
    private let executor: LoopExecutor
    /// Called with the result and its lifetime according to the servers: nil where they are to be asked again soon.
    private var finished: ((Lookup, Answer, Duration?) -> Void)?
    private var questions: [Question] = []
    /// Ends it.
    private var timer: Timer?
    /// Ends the wait for the slower family.
    private var patienceTimer: Timer?
    /// The answer meanwhile for callers that do not need both families.
    private var early: HostAddresses?

    init(
        _ name: String, _ number: UInt64, of servers: NameServers, on executor: LoopExecutor, for caller: Caller,
        finished: @escaping (Lookup, Answer, Duration?) -> Void
    ) {
        self.name = name
        self.number = number
        self.servers = servers
        self.executor = executor
        waiting = [caller]
        self.finished = finished
    }

    func start(within timeout: Duration) {
        if let reason = servers.whyUnreachable() { return fail(.nameServerFailure, reason, errno: ENETUNREACH) }
        for family in [Question.Family.ipv6, .ipv4] {
            let question = Question(family, name, of: servers, on: executor) { [weak self] in self?.answered() }
            questions.append(question)
        }
        for question in questions { question.ask() }
        guard finished != nil else { return }
        let timer = Timer(on: executor) { [weak self] in self?.timedOut(timeout) }
        self.timer = timer
        timer.arm(after: timeout)
    }

    private var addresses: [SocketAddress] { questions.flatMap(\.addresses) }

    private func timedOut(_ timeout: Duration) {
        guard addresses.isEmpty else { return succeed() }
        fail(.lookupTimedOut, "no answer from the name servers within \(timeout)")
    }

    private func answered() {
        guard finished != nil else { return }
        let areAllAnswered = questions.allSatisfy { $0.outcome != nil }
        if !addresses.isEmpty {
            if areAllAnswered { return succeed() }
            let timer = Timer(on: executor) { [weak self] in self?.giveEarly() }
            patienceTimer = timer
            timer.arm(after: Self.patience)
        } else if areAllAnswered {
            decideFailure(questions.compactMap(\.outcome))
        }
    }

    /// Gives callers what there is, without the slower family.
    private func giveEarly() {
        let early = HostAddresses(addresses: addresses, areAll: false)
        self.early = early
        let served = waiting.filter { !$0.needsAll }
        waiting.removeAll { !$0.needsAll }
        for caller in served { caller.resume(returning: .success(early)) }
    }

    /// Ends it with what it has found.
    func succeed() {
        let lifetime = questions.filter { !$0.addresses.isEmpty }.map(\.lifetime).min() ?? .zero
        let areKnown = questions.allSatisfy(\.isSettled)
        conclude(.success(HostAddresses(addresses: addresses, areAll: true)), areKnown ? lifetime : nil)
    }

    /// Ends it without an answer, for another one.
    func giveWay(among limit: Int) {
        guard addresses.isEmpty else { return succeed() }
        fail(.overloaded, "\(limit) look-ups are under way, and this is the oldest of them")
    }

    private func decideFailure(_ outcomes: [Int32]) {
        // A name that does not exist has no records (RFC 8020). A name without one kind may have other kinds.
        if outcomes.contains(DNS_ERR_NOTEXIST) {
            fail(.nameNotFound, "there is no such name; check its spelling")
        } else if outcomes.allSatisfy({ $0 == DNS_ERR_NODATA || $0 == DNS_ERR_NONE }) {
            fail(.nameNotFound, "the name has no address")
        } else if outcomes.contains(DNS_ERR_TIMEOUT) {
            fail(.nameServerFailure, "the name servers did not answer; try again later")
        } else {
            let reason = outcomes.first { $0 != DNS_ERR_NODATA }.map { String(cString: evdns_err_to_string($0)) }
            fail(.nameServerFailure, "the name servers could not answer (\(reason ?? "no reason")); try again later")
        }
    }

    private func fail(_ code: IOError.Code, _ detail: String, errno: Int32 = 0) {
        conclude(.failure(IOError(code, errno: errno, operation: "resolve \(name)", detail: detail)), .zero)
    }

    private func conclude(_ result: Answer, _ lifetime: Duration?) {
        guard let finished = finished.take() else { return }
        timer?.cancel()
        timer = nil
        patienceTimer?.cancel()
        patienceTimer = nil
        for question in questions { question.cancel() }
        finished(self, result, lifetime)
        for caller in waiting { caller.resume(returning: result) }
        waiting = []
    }

    /// True if it goes on for callers that may come.
    var isSpare: Bool { early != nil && waiting.isEmpty }

    /// Another caller.
    func join(_ caller: Caller) {
        if let early, !caller.needsAll { return caller.resume(returning: .success(early)) }
        waiting.append(caller)
    }

    /// Has a caller wait until `deadline` at most.
    func limit(_ number: UInt64, until deadline: Int64) {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return }
        let timer = Timer(on: executor) { [weak self, name] in
            self?.leave(
                number,
                IOError(
                    .lookupTimedOut, operation: "resolve \(name)", detail: "no answer from the name servers in time"))
        }
        waiting[index].timer = timer
        timer.arm(at: deadline)
    }

    /// A caller waits no longer. Without any the look-up ends, unless some have the addresses of one family already.
    func leave(_ number: UInt64, _ error: IOError) {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return }
        waiting.remove(at: index).resume(returning: .failure(error))
        if waiting.isEmpty, early == nil { conclude(.failure(error), .zero) }
    }
}

/// A query for a name in one family.
private final class Question {
    enum Family { case ipv4, ipv6 }

    /// evdns's code once there is an answer.
    private(set) var outcome: Int32?
    private(set) var addresses: [SocketAddress] = []
    private(set) var lifetime = Duration.zero
    /// True if the servers have said which addresses there are, and be it none.
    var isSettled: Bool { outcome.map { [DNS_ERR_NONE, DNS_ERR_NODATA, DNS_ERR_NOTEXIST].contains($0) } ?? false }

    private let family: Family
    private let name: String
    private let servers: NameServers
    private let executor: LoopExecutor
    private let answered: () -> Void
    private var request: OpaquePointer?

    init(
        _ family: Family, _ name: String, of servers: NameServers, on executor: LoopExecutor,
        answered: @escaping () -> Void
    ) {
        self.family = family
        self.name = name
        self.servers = servers
        self.executor = executor
        self.answered = answered
    }

    func ask() {
        // evdns calls back exactly once, cancelled or not, and later than now; until then it has this reference.
        let this = Unmanaged.passRetained(self)
        switch family {
        case .ipv4: request = evdns_base_resolve_ipv4(servers.base, name, 0, questionAnswered, this.toOpaque())
        case .ipv6: request = evdns_base_resolve_ipv6(servers.base, name, 0, questionAnswered, this.toOpaque())
        }
        if request == nil {
            this.release()
            outcome = DNS_ERR_UNKNOWN
            answered()
        }
    }

    func cancel() {
        if let request { evdns_cancel_request(servers.base, request) }
        request = nil
    }

    fileprivate func received(_ code: Int32, _ count: Int32, _ timeToLive: Int32, _ records: UnsafeMutableRawPointer?) {
        request = nil
        // This runs inside evdns, which must not be freed meanwhile should this be the last reference to it.
        executor.later { [servers] in _ = servers }
        guard outcome == nil else { return }
        outcome = code
        lifetime = .seconds(Int64(max(0, timeToLive)))
        if code == DNS_ERR_NONE, let records {
            for index in 0..<min(Int(count), 64) {
                let address = address(at: index, of: records)
                if !addresses.contains(address) { addresses.append(address) }
            }
        }
        answered()
    }

    private func address(at index: Int, of records: UnsafeMutableRawPointer) -> SocketAddress {
        switch family {
        case .ipv4:
            SocketAddress(
                ipv4: UInt32(bigEndian: records.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self)), port: 0)
        case .ipv6:
            SocketAddress(
                ipv6: UInt64(bigEndian: records.loadUnaligned(fromByteOffset: 16 * index, as: UInt64.self)),
                UInt64(bigEndian: records.loadUnaligned(fromByteOffset: 16 * index + 8, as: UInt64.self)), port: 0)
        }
    }
}

private func questionAnswered(
    _ code: Int32, _: CChar, _ count: Int32, _ timeToLive: Int32, _ records: UnsafeMutableRawPointer?,
    _ argument: UnsafeMutableRawPointer?
) {
    guard let argument else { return }
    Unmanaged<Question>.fromOpaque(argument).takeRetainedValue().received(code, count, timeToLive, records)
}
