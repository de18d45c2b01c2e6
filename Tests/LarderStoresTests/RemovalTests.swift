// SPDX-License-Identifier: Apache-2.0
import LarderRules
import Testing

@testable import LarderStores

@Suite("Removals of many entities")
struct RemovalTests {
    private func rows(in directory: TemporaryDirectory) throws -> Int64 {
        try Connection(path: directory.path + "/larder.db", isWriter: false).integer("SELECT count(*) FROM entity")
    }

    @Test func `they end when everything is gone from the disk, which takes several transactions`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        for number in 0..<3500 { store.put(key("\(number)"), [1, 2, 3]) }
        store.put(key("0", service: "other"), [1])
        await store.flush()
        #expect(try rows(in: directory) == 3501)
        store.beginRemoval(EntityMatch(service: "api"), because: .wiped)
        #expect(await store.removalsEnd())
        #expect(try rows(in: directory) == 1)
        await store.close()
    }

    @Test func `a store that is closed before ends them first`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        for number in 0..<3500 { store.put(key("\(number)"), [1, 2, 3]) }
        await store.flush()
        store.beginRemoval(EntityMatch(service: "api"), because: .wiped)
        await store.close()
        #expect(try rows(in: directory) == 0)
        #expect(await store.removalsEnd() == false)
    }
}
