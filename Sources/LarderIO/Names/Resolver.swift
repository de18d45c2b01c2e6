// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

/// Resolves the addresses of a host without ever blocking its loop. Confined to that loop.
///
/// Numeric hosts and `localhost` are answered without a query. Everything else is looked up in the system's hosts file
/// and at its name servers, both address families at once; callers that ask for the same name share a look-up. Changes
/// of the files take effect within seconds.
package final class Resolver {
    /// The paths of the system's resolver files.
    package struct Files: Sendable {
        package var resolverConfiguration = "/etc/resolv.conf"
        package var hosts = "/etc/hosts"

        package init() {}
    }

    /// Limits on the lifetime and number of cached answers.
    package struct Limits: Sendable {
        /// The timeout of a look-up.
        package var timeout = Duration.seconds(5)
        /// The longest lifetime of a cached answer; the servers may set a shorter one.
        package var lifetime = Duration.seconds(30)
        /// The lifetime of the answer that a name does not exist, and of an answer without one family of addresses.
        package var negativeLifetime = Duration.seconds(1)
        package var names = 512
        package var lookups = 256

        package init() {}
    }

    private struct Answer {
        let result: Lookup.Answer
        let expires: Int64
    }

    private let executor: LoopExecutor
    private let files: Files
    private let limits: Limits
    private var servers: NameServers?
    private var filesSeen: [FileVersion] = []
    private var filesDue = Int64.min
    private var answers: [String: Answer] = [:]
    private var lookups: [String: Lookup] = [:]
    private var lastCaller: UInt64 = 0

    package init(on loop: isolated EventLoop, files: Files = Files(), limits: Limits = Limits()) {
        executor = loop.executor
        self.files = files
        self.limits = limits
    }

    /// The addresses of `host` with `port`, IPv6 first; never empty.
    ///
    /// Throws `.nameNotFound`, `.nameServerFailure`, `.lookupTimedOut`, or `.overloaded` if many look-ups were begun after
    /// this one and it had no answer yet.
    ///
    /// - Parameters:
    ///   - needsAll: true to wait for a family of addresses that is slower than the other.
    ///   - deadline: ends the wait with `.lookupTimedOut`; in monotonic nanoseconds of the loop's clock.
    ///   - abort: ends the wait with `.closed`, and the look-up if no other caller waits for it.
    func addresses(
        of host: String, port: UInt16, needsAll: Bool = false, until deadline: Int64 = .max, abort: ConnectAbort? = nil
    ) async throws(IOError) -> HostAddresses {
        if let address = SocketAddress(host: host, port: port) {
            return HostAddresses(addresses: [address], areAll: true)
        }
        let name = try Self.canonical(host)
        if name == "localhost" || name.hasSuffix(".localhost") {
            // RFC 6761 §6.3: always this machine, even if a server or a file says otherwise.
            let own = [SocketAddress(ipv6: 0, 1, port: port), .loopback(port: port)]
            return HostAddresses(addresses: own, areAll: true)
        }
        var found = try await lookUp(name, needsAll, deadline, abort).get()
        found.addresses = found.addresses.map { $0.withPort(port) }
        return found
    }

    /// Lower case, without the final dot. Refuses text that cannot be the name of a host.
    static func canonical(_ host: String) throws(IOError) -> String {
        var name = host.lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        func refused(_ why: String) -> IOError {
            IOError(.nameNotFound, operation: "resolve \(host.prefix(64).debugDescription)", detail: why)
        }
        guard (1...253).contains(name.utf8.count) else { throw refused("a host name has 1 to 253 octets") }
        for label in name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            guard (1...63).contains(label.count) else { throw refused("its parts have 1 to 63 octets each") }
            guard label.allSatisfy(isNameOctet) else { throw refused("it has letters, digits, - and _ only") }
        }
        // `127.1` or `0x7f.1`: numbers to some, names to others; no domain has a last label of digits.
        if let last = name.split(separator: ".").last, last.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            throw refused("it is neither a name nor an address in its usual form")
        }
        return name
    }

    private static func isNameOctet(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    // MARK: Asking

    /// The number of cached answers.
    var answerCount: Int { answers.count }
    /// The number of look-ups under way.
    var lookupCount: Int { lookups.count }

    private func lookUp(
        _ name: String, _ needsAll: Bool, _ deadline: Int64, _ abort: ConnectAbort?
    ) async -> Lookup.Answer {
        let now = executor.monotonicNow()
        if let answer = answers[name], answer.expires > now { return answer.result }
        return await withUnsafeContinuation { continuation in
            lastCaller += 1
            if lookups[name] == nil, lookups.count >= limits.lookups { makeRoom() }
            let caller = Lookup.Caller(number: lastCaller, needsAll: needsAll, continuation: continuation)
            if let lookup = lookups[name] {
                lookup.join(caller)
                end(caller.number, of: lookup, at: deadline, on: abort)
            } else {
                begin(name, for: caller)
                if let lookup = lookups[name] { end(caller.number, of: lookup, at: deadline, on: abort) }
            }
        }
    }

    /// Ends a look-up so that another can begin: a look-up without callers, or the oldest, which is the least likely to
    /// be answered. So names without an answer, in any number, do not keep other names from being found.
    private func makeRoom() {
        if let spare = lookups.values.first(where: \.isSpare) { return spare.succeed() }
        lookups.values.min { $0.number < $1.number }?.giveWay(among: limits.lookups)
    }

    /// Ends a caller's wait at `deadline`, or on `abort`.
    private func end(_ caller: UInt64, of lookup: Lookup, at deadline: Int64, on abort: ConnectAbort?) {
        if deadline != .max { lookup.limit(caller, until: deadline) }
        abort?.onAbort { [weak lookup] in
            if let lookup { lookup.leave(caller, ConnectAbort.error("resolve \(lookup.name)")) }
        }
    }

    private func begin(_ name: String, for caller: Lookup.Caller) {
        let servers: NameServers
        do throws(IOError) {
            servers = try currentServers()
        } catch {
            return caller.continuation.resume(returning: .failure(error))
        }
        if let known = servers.hosts.addresses[name] {
            let all = HostAddresses(addresses: known, areAll: true)
            return caller.continuation.resume(returning: .success(all))
        }
        // Holds: the resolver owns its look-ups, and they are cancelled with it.
        let lookup = Lookup(name, caller.number, of: servers, on: executor, for: caller) { [unowned self] in
            finished($0, with: $1, lifetime: $2)
        }
        lookups[name] = lookup
        lookup.start(within: limits.timeout)
    }

    private func finished(
        _ lookup: Lookup, with result: Lookup.Answer, lifetime: Duration?
    ) {
        lookups[lookup.name] = nil
        let lifetime =
            switch result {
            case .success: min(lifetime ?? limits.negativeLifetime, limits.lifetime)
            case .failure(let error): error.code == .nameNotFound ? limits.negativeLifetime : .zero
            }
        guard lifetime > .zero else { return }
        keep(lookup.name, Answer(result: result, expires: executor.monotonicNow().advanced(by: lifetime)))
    }

    private func keep(_ name: String, _ answer: Answer) {
        if answers.count >= limits.names {
            let now = executor.monotonicNow()
            answers = answers.filter { $0.value.expires > now }
            // Lifetimes are short, so that it hardly matters which unexpired answer is dropped.
            while answers.count >= limits.names, let any = answers.first?.key { answers[any] = nil }
        }
        answers[name] = answer
    }

    /// The servers according to the current files, which are checked every few seconds.
    private func currentServers() throws(IOError) -> NameServers {
        let now = executor.monotonicNow()
        if let servers, now < filesDue { return servers }
        filesDue = now.advanced(by: .seconds(5))
        let seen = [FileVersion(files.resolverConfiguration), FileVersion(files.hosts)]
        if let servers, seen == filesSeen { return servers }
        let servers = try NameServers(on: executor, files: files)
        self.servers = servers
        filesSeen = seen
        return servers
    }
}

/// Identifies one state of a file.
private struct FileVersion: Equatable {
    private var fields: [Int] = []

    init(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        fields = [Int(status.st_ino), Int(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
    }
}
