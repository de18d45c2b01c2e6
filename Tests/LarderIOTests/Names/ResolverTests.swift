// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderTesting
import Testing

@testable import LarderIO

@Suite("Resolver", .timeLimit(.minutes(10)))
struct ResolverTests {
    /// The answer of a resolver with `files` about `host`: addresses or the code of the error.
    static func resolve(
        _ host: String, files: Resolver.Files, limits: Resolver.Limits = Resolver.Limits()
    ) async throws -> String {
        try await onLoop { loop in
            let resolver = Resolver(on: loop, files: files, limits: limits)
            return await describe(host, by: resolver)
        }
    }

    static func describe(_ host: String, by resolver: Resolver) async -> String {
        do throws(IOError) {
            return try await resolver.addresses(of: host, port: 80).addresses.map(\.description).joined(separator: " ")
        } catch { return "\(error.code)" }
    }

    static let nowhere: Resolver.Files = {
        var files = Resolver.Files()
        files.resolverConfiguration = "/nonexistent/resolv.conf"
        files.hosts = "/nonexistent/hosts"
        return files
    }()

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1:80"), ("[::1]", "[::1]:80"), ("2001:db8::1", "[2001:db8::1]:80"),
        ("::ffff:10.0.0.1", "10.0.0.1:80"), ("localhost", "[::1]:80 127.0.0.1:80"),
        ("LocalHost.", "[::1]:80 127.0.0.1:80"), ("api.v2.localhost", "[::1]:80 127.0.0.1:80"),
    ])
    func `numbers and localhost need no server`(host: String, expected: String) async throws {
        #expect(try await Self.resolve(host, files: Self.nowhere) == expected)
    }

    @Test(arguments: [
        "", ".", "a..b", "-\u{0}-", "a b", "b\u{fc}cher.example", "127.1", "0x7f.1", "2130706433", "1.2.3.4.5",
        String(repeating: "a", count: 64) + ".example", String(repeating: "a.", count: 127) + "example",
    ])
    func `what cannot be a host's name is refused without asking`(host: String) async throws {
        let server = try FakeNameServer { _ in .addresses(ipv4: [1], ipv6: []) }
        #expect(try await Self.resolve(host, files: server.files) == "nameNotFound")
        #expect(server.questions == [])
    }

    @Test func `both families are asked for, IPv6 comes first`() async throws {
        let server = try FakeNameServer { _ in
            .addresses(ipv4: [0xC000_0201, 0xC000_0202], ipv6: [(0x2001_0DB8_0000_0000, 7)])
        }
        let text = try await Self.resolve("Www.Example.", files: server.files)
        #expect(text == "[2001:db8::7]:80 192.0.2.1:80 192.0.2.2:80")
        #expect(Set(server.questions) == ["A www.example", "AAAA www.example"])
    }

    @Test func `an answer is used again while it lives, then asked for again`() async throws {
        let server = try FakeNameServer { _ in .addresses(ipv4: [0xC000_0201], ipv6: []) }
        let time = ManualTime()
        let files = server.files
        let counts = try await onLoop(time: time) { loop in
            let resolver = Resolver(on: loop, files: files)
            var counts: [Int] = []
            for _ in 0..<2 {
                _ = try await resolver.addresses(of: "www.example", port: 80)
                _ = try await resolver.addresses(of: "WWW.example", port: 443)
                counts.append(server.questions.count)
                time.advance(by: .seconds(30))
            }
            return counts
        }
        #expect(counts == [2, 4])
    }

    @Test func `who asks for the same name shares one lookup`() async throws {
        let server = try FakeNameServer { _ in .addresses(ipv4: [0xC000_0201], ipv6: []) }
        let files = server.files
        let answers = try await onLoop { loop in
            let resolver = Resolver(on: loop, files: files)
            var answers: [String] = []
            for _ in 0..<10 {
                loop.spawnHere { answers.append(await Self.describe("www.example", by: resolver)) }
            }
            while answers.count < 10 { await loop.sleep(for: .milliseconds(1)) }
            return answers
        }
        #expect(answers == Array(repeating: "192.0.2.1:80", count: 10))
        #expect(server.questions.count == 2)
    }

    @Test(arguments: 0...2)
    func `the deadline of whoever has an answer passes unnoticed`(number: Int) async throws {
        let replies = [.addresses(ipv4: [1], ipv6: []), .ipv6Alone([(7, 7)]), FakeNameServer.Reply.noSuchName]
        let server = try FakeNameServer { _ in replies[number] }
        let time = ManualTime()
        let files = server.files
        try await onLoop(time: time) { loop in
            var limits = Resolver.Limits()
            limits.timeout = .seconds(200_000)
            let resolver = Resolver(on: loop, files: files, limits: limits)
            let isThere = Lock(false)
            loop.spawnHere {
                _ = try? await resolver.addresses(
                    of: "www.example", port: 80, until: time.monotonic().advanced(by: .seconds(100_000)))
                isThere.withLock { $0 = true }
            }
            // The slower family is given up after a little time.
            while !isThere.withLock({ $0 }) {
                time.advance(by: .milliseconds(10))
                await loop.yield()
            }
            for _ in 0..<3 {
                time.advance(by: .seconds(100_000))
                await loop.yield()
            }
            #expect(await Self.describe("127.0.0.1", by: resolver) == "127.0.0.1:80")
        }
    }

    @Test func `a name that does not exist is remembered for a second`() async throws {
        let server = try FakeNameServer { _ in .noSuchName }
        let time = ManualTime()
        let files = server.files
        let log = try await onLoop(time: time) { loop in
            let resolver = Resolver(on: loop, files: files)
            var log: [String] = []
            for _ in 0..<2 {
                log.append(await Self.describe("absent.example", by: resolver))
                log.append(await Self.describe("absent.example", by: resolver))
                log.append("\(server.questions.count)")
                time.advance(by: .seconds(1))
            }
            return log
        }
        #expect(log == ["nameNotFound", "nameNotFound", "2", "nameNotFound", "nameNotFound", "4"])
    }

    @Test func `a name without addresses is not found`() async throws {
        let server = try FakeNameServer { _ in .addresses(ipv4: [], ipv6: []) }
        #expect(try await Self.resolve("empty.example", files: server.files) == "nameNotFound")
    }

    @Test func `a server that fails is a failure of the server`() async throws {
        let server = try FakeNameServer { _ in .failure }
        #expect(try await Self.resolve("broken.example", files: server.files) == "nameServerFailure")
    }

    @Test func `a family that is not answered is waited for by whoever needs it, and asked for again`() async throws {
        let server = try FakeNameServer { _ in .ipv6Alone([(0x2001_0DB8_0000_0000, 7)]) }
        let files = server.files
        let log = try await onLoop { loop in
            var limits = Resolver.Limits()
            limits.timeout = .milliseconds(200)
            limits.negativeLifetime = .zero
            let resolver = Resolver(on: loop, files: files, limits: limits)
            var log: [String] = []
            for _ in 0..<2 {
                for needsAll in [false, true] {
                    let found = try await resolver.addresses(of: "half.example", port: 80, needsAll: needsAll)
                    log.append("\(found.addresses[0]) \(found.addresses.count) \(found.areAll)")
                }
            }
            return log
        }
        #expect(log == ["[2001:db8::7]:80 1 false", "[2001:db8::7]:80 1 true", log[0], log[1]])
        #expect(server.questions.count { $0 == "AAAA half.example" } == 2)
    }

    @Test func `a silent server costs the time allowed and no more`() async throws {
        let server = try FakeNameServer { _ in .silence }
        var limits = Resolver.Limits()
        limits.timeout = .milliseconds(20)
        #expect(try await Self.resolve("silent.example", files: server.files, limits: limits) == "lookupTimedOut")
    }

    @Test func `without a server the answer is quick and says what to do`() async throws {
        // Nobody answers at this address: the port was free a moment ago.
        let free = try ListeningSocket.tcp(.loopback(port: 0))[0].address
        for configuration in ["nameserver \(free)\n", "nameserver 127.0.0.1:1\nnameserver [::1]:1\n"] {
            let directory = try FakeNameServer.directory(resolverConfiguration: configuration)
            defer { FakeNameServer.remove(directory) }
            // On a clock that stands still no time-out of ours can be what ends the lookup.
            let files = FakeNameServer.files(in: directory)
            let error = try await onLoop(time: ManualTime()) { loop -> IOError? in
                do throws(IOError) {
                    _ = try await Resolver(on: loop, files: files).addresses(of: "www.example", port: 80)
                    return nil
                } catch { return error }
            }
            #expect(error?.code == .nameServerFailure)
            #expect(error?.detail.hasPrefix("no name server of resolv.conf can be reached") == true)
        }
    }

    @Test func `the hosts file is known, and read again when it has changed`() async throws {
        let server = try FakeNameServer(hosts: "192.0.2.9 printer\n") { _ in .noSuchName }
        let time = ManualTime()
        let files = server.files
        let answers = try await onLoop(time: time) { loop in
            let resolver = Resolver(on: loop, files: files)
            var answers = [await Self.describe("printer", by: resolver)]
            FakeNameServer.write("192.0.2.10 printer scanner\n", to: files.hosts)
            time.advance(by: .seconds(20))
            answers.append(await Self.describe("printer", by: resolver))
            answers.append(await Self.describe("scanner", by: resolver))
            return answers
        }
        #expect(answers == ["192.0.2.9:80", "192.0.2.10:80", "192.0.2.10:80"])
        #expect(server.questions == [])
    }

    @Test func `names that are not answered do not hold up others`() async throws {
        let server = try FakeNameServer { name in
            name.hasPrefix("silent") ? .silence : .addresses(ipv4: [0xC000_0201], ipv6: [])
        }
        let files = server.files
        var limits = Resolver.Limits()
        limits.timeout = .seconds(1)
        let time = ManualTime()
        let (room, silent) = (limits.lookups, limits.lookups + 50)
        let (answer, ended) = try await onLoop(time: time) { [limits] loop in
            let resolver = Resolver(on: loop, files: files, limits: limits)
            var ended = 0
            for number in 0..<silent {
                loop.spawnHere {
                    _ = await Self.describe("silent\(number).example", by: resolver)
                    ended += 1
                }
            }
            while ended < silent - room { await loop.yield() }
            let answer = await Self.describe("www.example", by: resolver)
            let endedBefore = ended
            #expect(resolver.lookupCount == room - 1)
            // Nothing waits for them once the loop ends.
            while ended < silent {
                time.advance(by: limits.timeout)
                await Task.yield()
            }
            return (answer, endedBefore)
        }
        #expect(answer == "192.0.2.1:80")
        #expect(ended == silent - room + 1)
    }

    @Test func `lookups under way and answers kept are bounded`() async throws {
        let server = try FakeNameServer { name in
            name.hasPrefix("silent") ? .silence : .addresses(ipv4: [0xC000_0201], ipv6: [])
        }
        let files = server.files
        var limits = Resolver.Limits()
        limits.lookups = 2
        limits.names = 4
        limits.timeout = .milliseconds(30)
        let time = ManualTime()
        let (log, last) = try await onLoop(time: time) { [limits] loop in
            let resolver = Resolver(on: loop, files: files, limits: limits)
            var log: [String] = []
            for number in 0..<3 {
                loop.spawnHere { log.append(await Self.describe("silent\(number).example", by: resolver)) }
            }
            while log.isEmpty { await Task.yield() }
            while log.count < 3 {
                time.advance(by: limits.timeout)
                await Task.yield()
            }
            var last = ""
            for number in 0..<9 { last = await Self.describe("name\(number).example", by: resolver) }
            #expect(resolver.answerCount <= 4)
            return (log, last)
        }
        #expect(log == ["overloaded", "lookupTimedOut", "lookupTimedOut"])
        #expect(last == "192.0.2.1:80")
    }

    @Test func `who does not wait any longer looks nothing up, unless others wait`() async throws {
        let server = try FakeNameServer { name in
            name.hasPrefix("silent") ? .silence : .addresses(ipv4: [0xC000_0201], ipv6: [])
        }
        let files = server.files
        let time = ManualTime()
        let log = try await onLoop(time: time) { loop in
            let resolver = Resolver(on: loop, files: files)
            let aborts = [ConnectAbort(), ConnectAbort()]
            var log: [String] = []
            for abort in aborts {
                loop.spawnHere {
                    do throws(IOError) {
                        _ = try await resolver.addresses(of: "silent.example", port: 80, abort: abort)
                    } catch {
                        log.append("\(error.code)")
                    }
                }
            }
            while server.questions.isEmpty { await loop.yield() }
            aborts[0].abort()
            while log.count < 1 { await loop.yield() }
            #expect(resolver.lookupCount == 1)
            aborts[1].abort()
            while log.count < 2 { await loop.yield() }
            #expect(resolver.lookupCount == 0)
            log.append(await Self.describe("www.example", by: resolver))
            return log
        }
        #expect(log == ["closed", "closed", "192.0.2.1:80"])
    }
}
