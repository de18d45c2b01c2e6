// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO
import LarderTesting
import Testing

@testable import LarderProxy

@Suite("The files of the local CA")
struct AuthorityFilesTests {
    private static func authority() throws -> LocalAuthority {
        try LocalAuthority(machine: "desk", day: "22 Nov 2026", now: Int64(time(nil)))
    }

    private static func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test func `what was kept comes back, and the key is its owner's alone`() throws {
        let directory = FreshDirectory()
        let files = AuthorityFiles(directory: directory.path)
        #expect(try files.load() == nil)
        let made = try Self.authority()
        try files.save(made)
        #expect(try files.load()?.fingerprint == made.fingerprint)
        #expect(Self.mode(directory.path + "/ca.key") == 0o600)
        #expect(Self.mode(directory.path + "/ca.pem") & 0o022 == 0)
        try files.remove()
        #expect(try files.load() == nil)
        #expect(access(directory.path + "/ca.key", F_OK) != 0)
        try files.remove()
    }

    @Test(arguments: [0o640, 0o604, 0o660] as [mode_t])
    func `a key that others could read is refused`(mode: mode_t) throws {
        let directory = FreshDirectory()
        let files = AuthorityFiles(directory: directory.path)
        try files.save(try Self.authority())
        chmod(directory.path + "/ca.key", mode)
        #expect(throws: AuthorityFiles.Failure.self) { try files.load() }
    }

    @Test func `a link is not followed, and what was begun counts for nothing`() throws {
        let directory = FreshDirectory()
        let files = AuthorityFiles(directory: directory.path)
        try files.save(try Self.authority())
        rename(directory.path + "/ca.key", directory.path + "/elsewhere")
        symlink(directory.path + "/elsewhere", directory.path + "/ca.key")
        #expect(throws: AuthorityFiles.Failure.self) { try files.load() }
        unlink(directory.path + "/ca.key")
        #expect(try files.load() == nil)
    }

    @Test func `a key and a certificate of two authorities are refused`() throws {
        let directory = FreshDirectory()
        let files = AuthorityFiles(directory: directory.path)
        try files.save(try Self.authority())
        let other = FreshDirectory()
        try AuthorityFiles(directory: other.path).save(try Self.authority())
        rename(other.path + "/ca.pem", directory.path + "/ca.pem")
        #expect(throws: AuthorityFiles.Failure.self) { try files.load() }
    }
}
