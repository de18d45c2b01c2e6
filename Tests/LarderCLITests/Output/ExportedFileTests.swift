// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Larder
import Testing

@testable import LarderCLI

@Suite("Files that commands write")
struct ExportedFileTests {
    private let directory = FreshDirectory()
    private var path: String { directory.path + "/a.har" }

    private func text() throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private func mode() throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    private func entries() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory.path) }

    @Test func `one for this user alone is readable by nobody else, whatever was there`() throws {
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, 0o644) == 0)
        try ExportedFile.write(Array("new".utf8), to: path, isPrivate: true)
        #expect(try text() == "new")
        #expect(try mode() == 0o600)
        #expect(try entries() == ["a.har"])
    }

    @Test func `one that cannot be written whole leaves what was there`() throws {
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        // Nobody can write what another writes.
        let other = try ExportedFile(path, isPrivate: false)
        #expect(throws: CommandFailure.self) {
            try ExportedFile.write(Array("new".utf8), to: path, isPrivate: false)
        }
        #expect(try text() == "old")
        try other.write(Array("other".utf8)[...])
        #expect(try text() == "old")
        try other.finish()
        #expect(try text() == "other")
    }

    @Test func `a recording is for this user alone, and its file is whole or not there`() throws {
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
        func export() throws {
            let peer = try ScriptedPeer(answer: answer)
            try withExtendedLifetime(peer) { try ExportRecording.parse(["a", path, "--socket", peer.path]).run() }
        }
        let other = try ExportedFile(path, isPrivate: true)
        #expect(throws: CommandFailure.self) { try export() }
        #expect(try text() == "old")
        try other.finish()
        try export()
        #expect(try text() == "{}\n")
        #expect(try mode() == 0o600)
    }

    @Test func `the summary of a lane is written whole or not at all`() throws {
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        let summary = LaneSummary(json: ["requests": 1], command: "true")
        let other = try ExportedFile(path, isPrivate: false)
        #expect(throws: CommandFailure.self) { try summary.write(to: path) }
        #expect(try text() == "old")
        try other.finish()
        try summary.write(to: path)
        #expect(try text().hasPrefix("{"))
    }

    @Test func `a link stays, and leads to what is written`() throws {
        let target = directory.path + "/b"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        try ExportedFile.write(Array("new".utf8), to: path, isPrivate: false)
        #expect(try text() == "new")
        #expect(try entries().sorted() == ["a.har", "b"])
    }

    @Test func `the rest of an interrupted export is replaced, and no link is followed`() throws {
        try Data("rest".utf8).write(to: URL(fileURLWithPath: path + ".part"))
        try ExportedFile.write(Array("new".utf8), to: path, isPrivate: true)
        #expect(try text() == "new")
        #expect(try mode() == 0o600)
        try FileManager.default.createSymbolicLink(atPath: path + ".part", withDestinationPath: directory.path + "/b")
        #expect(throws: CommandFailure.self) { try ExportedFile(path, isPrivate: true) }
        #expect(try entries().sorted() == ["a.har", "a.har.part"])
    }

    private static let unreadable = " still stored: export again, and see the log"
    private static let outcomes: [(summary: JSONValue, remarks: [String], status: Int32)] = [
        (["entities": 2, "leftOut": [:]], [], 0), (["entities": 0, "leftOut": [:]], ["nothing matched"], 2),
        (
            ["entities": 0, "leftOut": ["private": 1]],
            ["1 that may be one user's alone was left out; --private includes it"], 2
        ),
        (
            ["entities": 1, "leftOut": ["private": 3, "privateBecause": ["credentials": 2, "url": 1]]],
            [
                "3 that may be one user's alone were left out; --private includes them",
                "of those, 2 were sent to a request with credentials; 1 has a secret in the URL",
            ], 0
        ),
        (["entities": 2, "leftOut": ["damaged": 1]], ["1 was damaged on disk and left out"], 0),
        (
            ["entities": 2, "leftOut": ["damaged": 0, "unreadable": 1]],
            ["1 could not be read and was left out; it is\(unreadable)"], 1
        ),
        (
            ["entities": 0, "leftOut": ["unreadable": 2]],
            ["2 could not be read and were left out; they are\(unreadable)"], 1
        ),
    ]

    @Test(arguments: outcomes)
    func `an export that misses what could not be read is no success`(
        summary: JSONValue, remarks: [String], status: Int32
    ) {
        let outcome = ExportOutcome(summary)
        #expect(outcome.remarks == remarks)
        #expect(outcome.exitStatus == status)
    }
}
