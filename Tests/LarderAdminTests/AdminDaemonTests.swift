// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderStores
import Testing

@testable import LarderAdmin

@Suite("The daemon's parts")
struct AdminDaemonTests {
    @Test func `the key of partitions is the same after a restart, and nobody else's to read`() async throws {
        let directory = try TemporaryPlace()
        let first = try await partition(in: directory)
        #expect(try await partition(in: directory) == first)
        #expect(try await partition(in: TemporaryPlace()) != first)

        let file = directory.path + "/" + InstallationKey.fileName
        var status = stat()
        #expect(stat(file, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(status.st_size == 32)
        #expect(truncate(file, 31) == 0)
        #expect(try await partition(in: directory) != first)
    }

    /// The name of a partition, by the key of the store in a directory.
    private func partition(in directory: TemporaryPlace) async throws -> Larder.Partition {
        let store = try SQLiteStore.open(
            StoreSettings(path: directory.path, diskLimit: 64 << 20, now: { Timestamp(seconds: 0) })
        ) { _ in }
        let partition = try InstallationKey.digest(in: store).partition(of: [1, 2, 3])
        await store.close()
        return partition
    }

    @Test func `a reload applies what it can and names the rest`() async throws {
        try await AdminFixture.run { daemon throws in
            var settings = daemon.daemon.proxy.configuration.settings
            settings.admin.token = Secret("another")
            settings.threads = 7
            settings.cache.disk = .gibibytes(1)
            settings.cache.memory = .mebibytes(8)
            #expect(try daemon.daemon.reload(settings) == ["threads", "cache.disk"])
            let inForce = daemon.daemon.proxy.configuration.settings
            #expect(inForce.threads == 2)
            #expect(daemon.daemon.proxy.registry.limit == 8 << 20)
            #expect(try daemon.send("POST", "/-/wipe?match=**", ["Authorization: Bearer secret"]).status == 403)
            #expect(try daemon.send("POST", "/-/wipe?match=**", ["Authorization: Bearer another"]).status == 200)
        }
    }

    @Test func `a reload that fails changes nothing`() async throws {
        try await AdminFixture.run { daemon throws in
            var settings = daemon.daemon.proxy.configuration.settings
            settings.upstream.caFile = "/nonexistent.pem"
            settings.services = []
            #expect(throws: IOError.self) { try daemon.daemon.reload(settings) }
            #expect(daemon.daemon.proxy.configuration.settings.services.count == 1)
            #expect(try daemon.get("/api/a").status == 200)
        }
    }

    /// Resources are found by the number of their service: two with one number would answer for each other.
    @Test func `no two services have one number, however often their URLs change`() async throws {
        try await AdminFixture.run { daemon throws in
            var settings = daemon.daemon.proxy.configuration.settings
            var seen: [String: UInt32] = [:]
            for round in 0..<3 {
                settings.services[0].baseURL = try BaseURL.read("http://a\(round).example/").get()
                var added = ServiceSettings()
                added.name = "added\(round)"
                added.baseURL = try BaseURL.read("http://b\(round).example/").get()
                settings.services.append(added)
                _ = try daemon.daemon.reload(settings)
                let table = daemon.daemon.proxy.configuration.router.table
                for service in table.all {
                    seen["\(service.name) \(service.base?.string ?? "")"] = service.number
                }
            }
            #expect(Set(seen.values).count == seen.count)
        }
    }
}

private final class TemporaryPlace {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "larder-place-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
