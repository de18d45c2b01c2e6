// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Clients of a daemon whose store is damaged, of another version, or fails.
@Suite("Scenarios: a store in trouble")
struct StoreDamageScenarios {
    static let fresh = "Cache-Control: max-age=600"
    /// The even ones are small enough for rows of the database, the others have files.
    static let paths = (0..<12).map { "/\($0)" }

    static func content(_ path: String) -> String {
        let isSmall = path.last.map { "02468".contains($0) } == true
        return String(repeating: "the content of \(path); ", count: isSmall ? 20 : 20_000)
    }

    enum Harm: CaseIterable, Sendable {
        /// An octet of each content in the database, or of each content in a file.
        case rows, files
        /// Files of content that end early, or are gone.
        case cut, removed
        /// A schema that a later Larder has made.
        case laterVersion
        /// No database any more.
        case garbage

        /// How many of the responses are lost.
        var lost: Int {
            switch self {
            case .rows, .files, .cut, .removed: 6
            case .laterVersion, .garbage: 12
            }
        }

        func happen(in directory: FreshDirectory) throws {
            let root = URL(fileURLWithPath: directory.path)
            let database = root.appendingPathComponent("larder.db")
            switch self {
            case .rows:
                var octets = try Data(contentsOf: database)
                for path in StoreDamageScenarios.paths {
                    let content = Data(StoreDamageScenarios.content(path).utf8)
                    while let place = octets.range(of: content) { octets[place.lowerBound + content.count / 2] ^= 1 }
                }
                try octets.write(to: database)
            case .laterVersion:
                var octets = try Data(contentsOf: database)
                // Where the format of SQLite has `user_version`.
                octets.replaceSubrange(60..<64, with: [0, 0, 0x27, 0x10])
                try octets.write(to: database)
            case .garbage: try Data(repeating: 0x5A, count: 100_000).write(to: database)
            case .files, .cut, .removed:
                let folder = root.appendingPathComponent("content")
                for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
                    let file = folder.appendingPathComponent(name)
                    guard var octets = try? Data(contentsOf: file) else { continue }
                    switch self {
                    case .files: octets[octets.count / 2] ^= 1
                    case .cut: octets.removeLast(octets.count / 2)
                    default: try FileManager.default.removeItem(at: file)
                    }
                    if self != .removed { try octets.write(to: file) }
                }
            }
        }
    }

    @Test(arguments: Harm.allCases)
    func `EC-16 what is damaged on disk, or of another form, is a miss for clients and stored anew`(
        harm: Harm
    ) async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: Self.content($0.target)) }
            for path in Self.paths { _ = try await scene.get(path) }
            try await scene.restart(harm.happen)
            for path in Self.paths { #expect(try await scene.get(path).text == Self.content(path), "\(path)") }
            #expect(scene.origin.seen.count == Self.paths.count + harm.lost)
            try await scene.restart()
            for path in Self.paths {
                let response = try await scene.get(path)
                #expect(response.text == Self.content(path))
                #expect(response["Cache-Status"]?.hasPrefix("Larder; hit") == true, "\(path)")
            }
            #expect(scene.origin.seen.count == Self.paths.count + harm.lost)
        }
    }

    @Test func `EC-16 a disk that fails is done without, and clients get what the origin has`() async throws {
        try await Scenario.run(onDisk: true) { settings, _ in
            settings.cache.memory = .mebibytes(1)
        } _: { (scene) async throws in
            scene.origin.answer { .ok(Self.fresh, content: Self.content($0.target)) }
            for path in Self.paths { _ = try await scene.get(path) }
            let directory = try #require(scene.directory)
            // Reads and writes fail as on a disk that lost what it had. What SQLite maps cannot be cut.
            for name in try FileManager.default.subpathsOfDirectory(atPath: directory.path)
            where !name.hasSuffix("-shm") {
                truncate(directory.path + "/" + name, 0)
            }
            for round in 0..<3 {
                for path in Self.paths + (0..<12).map({ "/more/\(round)/\($0)" }) {
                    #expect(try await scene.get(path).text == Self.content(path), "\(path)")
                }
            }
            try await eventually("it is told of") {
                scene.log.values.contains { $0.contains("store") || $0.contains("database") }
            }
            try await scene.restart()
            for path in Self.paths { #expect(try await scene.get(path).text == Self.content(path), "\(path)") }
        }
    }
}
