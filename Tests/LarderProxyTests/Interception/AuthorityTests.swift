// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderTesting
import Testing

@testable import LarderProxy

@Suite("Local authority")
struct AuthorityTests {
    /// As two `larder run` at once ask for it.
    @Test func `an authority that many ask for at once is made once, and what is saved is whole`() async throws {
        for _ in 0..<5 {
            let directory = FreshDirectory()
            let interception = Interception(keeper: AuthorityFiles(directory: directory.path))
            let now = Timestamp(seconds: 1_700_000_000)
            let pool = WorkerPool(name: "test", threads: 4, queueLimit: 16)
            let made = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<4 { group.addTask { try await pool.run { try interception.makeAuthority(now: now).pem } } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(made.count == 1)
            let saved = Interception(keeper: AuthorityFiles(directory: directory.path))
            try saved.load()
            #expect(saved.authority?.pem == made.first)
        }
    }
}
