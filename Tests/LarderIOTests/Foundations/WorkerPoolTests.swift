// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization
import Testing

@testable import LarderIO

@Suite("Worker pools", .timeLimit(.minutes(10)))
struct WorkerPoolTests {
    @Test func `jobs of one thread run in the order they came`() {
        let pool = WorkerPool(name: "one", threads: 1, queueLimit: 5000)
        let seen = Lock<[Int]>([])
        for number in 0..<3000 { #expect(pool.submit { seen.withLock { $0.append(number) } }) }
        pool.shutdown()
        #expect(seen.withLock { $0 } == Array(0..<3000))
    }

    @Test func `a full queue refuses, and shutting down runs what was taken`() {
        let pool = WorkerPool(name: "full", threads: 2, queueLimit: 3)
        let gate = Lock(0)
        let run = Atomic<Int>(0)
        let accepted = gate.withLock { (_: inout Int) -> Int in
            // Two jobs keep the threads busy; wait until both have been taken.
            for _ in 0..<2 {
                _ = pool.submit {
                    gate.withLock { $0 += 1 }
                    run.add(1, ordering: .relaxed)
                }
            }
            while pool.waitingCount > 0 { usleep(100) }
            return (0..<5).filter { _ in pool.submit { run.add(1, ordering: .relaxed) } }.count
        }
        pool.shutdown()
        #expect(accepted == 3)
        let sum = run.load(ordering: .relaxed)
        #expect(sum == 5)
        #expect(!pool.submit {})
    }

    @Test func `a thread that is lost to a job is substituted, and one ends when the job returns after all`() {
        let pool = WorkerPool(name: "lost", threads: 1, queueLimit: 8)
        let gate = Lock(0)
        let done = Atomic<Int>(0)
        gate.withLock { _ in
            #expect(
                pool.submit {
                    gate.withLock { $0 += 1 }
                    pool.returned()
                    done.add(1, ordering: .relaxed)
                })
            while pool.waitingCount > 0 { usleep(100) }
            #expect(!pool.substitute(limit: 0))
            #expect(pool.substitute(limit: 1))
            #expect(!pool.substitute(limit: 1))
            for _ in 0..<3 { #expect(pool.submit { done.add(1, ordering: .relaxed) }) }
            while done.load(ordering: .relaxed) < 3 { usleep(100) }
        }
        while done.load(ordering: .relaxed) < 4 { usleep(100) }
        // There is room for another one once a thread has ended.
        while !pool.substitute(limit: 1) { usleep(100) }
        #expect(pool.submit { done.add(1, ordering: .relaxed) })
        pool.shutdown()
        let sum = done.load(ordering: .relaxed)
        #expect(sum == 5)
    }

    @Test func `a loop waits for blocking work and is resumed where it was`() async throws {
        let pool = WorkerPool(name: "work", threads: 2, queueLimit: 8)
        defer { pool.shutdown() }
        let (sum, wasHome) = try await onLoop { loop in
            var sum = 0
            var wasHome = true
            for number in 0..<50 {
                sum += try await pool.run { number * 2 }
                wasHome = wasHome && loop.inLoop
            }
            return (sum, wasHome)
        }
        #expect(sum == 2450)
        #expect(wasHome)
    }

    @Test func `an error of the work is thrown to who waits, and so is a full queue`() async throws {
        let pool = WorkerPool(name: "bad", threads: 1, queueLimit: 1)
        let failure = IOError(.other, operation: "work")
        await #expect(throws: failure) { try await pool.run { throw failure } }
        pool.shutdown()
        await #expect { try await pool.run { 1 } } throws: { ($0 as? IOError)?.code == .overloaded }
    }

    @Test func `threads carry the pool's name`() async throws {
        let pool = WorkerPool(name: "named", threads: 1, queueLimit: 1)
        defer { pool.shutdown() }
        let name = try await pool.run {
            var octets = [UInt8](repeating: 0, count: 32)
            let file = open("/proc/thread-self/comm", O_RDONLY)
            defer { close(file) }
            let count = read(file, &octets, 32)
            return Array(octets.prefix(max(0, count))).text
        }
        #expect(name == "named-0\n")
    }

    @Test func `threads end with the last reference, after the jobs that wait`() async throws {
        let done = Lock(0)
        do {
            let pool = WorkerPool(name: "brief", threads: 2, queueLimit: 100)
            for _ in 0..<50 { #expect(pool.submit { done.withLock { $0 += 1 } }) }
        }
        while done.withLock({ $0 }) < 50 { await Task.yield() }
        while threadNames().contains(where: { $0.hasPrefix("brief-") }) { await Task.yield() }
    }

    /// The names of all threads of the process.
    private func threadNames() -> [String] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
    }

    @Test func `a lock lets one thread in at a time`() {
        let pool = WorkerPool(name: "count", threads: 4, queueLimit: 100)
        let count = Lock(0)
        for _ in 0..<40 {
            #expect(pool.submit { for _ in 0..<500 { count.withLock { $0 += 1 } } })
        }
        pool.shutdown()
        #expect(count.withLock { $0 } == 20_000)
    }
}
