// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import LarderIO
import Testing

@testable import LarderCLI

@Suite("Trust stores")
struct TrustStoreTests {
    private let directory = FreshDirectory()

    private func authority() throws -> LocalAuthority {
        try LocalAuthority(machine: "a", day: "27 Nov 2026", now: 1_795_000_000)
    }

    private func renewed(_ authority: LocalAuthority) throws -> LocalAuthority {
        try authority.renewed(now: 1_796_000_000)
    }

    private func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory.path + "/" + name))
    }

    /// A store whose bundles a command builds: `true` or `false`.
    private func system(_ command: String) -> TrustStore {
        TrustStore(kind: .system(directory: directory.path, command: [command]))
    }

    @Test func `of a renewed authority all certificates are removed, and nobody else's`() throws {
        let old = try authority()
        let new = try renewed(old)
        #expect(old.pem != new.pem)
        try write(old.pem, to: "larder-01.crt")
        try write(new.pem, to: "larder-02.crt")
        try write(try authority().pem, to: "larder-03.crt")
        try write("no certificate", to: "larder-04.crt")
        try write(old.pem, to: "by-hand.crt")
        let store = system("true")
        let names = try store.holdings(ofKeyIn: new.pem).names
        #expect(names == ["larder-01", "larder-02"])
        #expect(
            store.removing(names) == [
                .remove(directory.path + "/larder-01.crt"), .remove(directory.path + "/larder-02.crt"), .run(["true"]),
            ])
        #expect(store.removing([]).isEmpty)
        #expect(
            system("update-ca-certificates").removing(["larder-01"]).last
                == .run(["update-ca-certificates", "--fresh"]))
    }

    @Test func `a browser's database is asked for them`() throws {
        let old = try authority()
        let new = try renewed(old)
        try write(old.pem, to: "larder-01")
        try write(try authority().pem, to: "larder-03")
        try write(
            """
            #!/bin/sh
            [ "$1 $2 $3" = "-L -d sql:db" ] || exit 1
            if [ "$4" = -n ]; then exec cat "${0%/*}/$5"; fi
            printf '\\nCertificate Nickname    Trust Attributes\\n\\n'
            printf 'larder-03    C,,\\nAnother one    ,,\\nlarder-01    C,,\\n'

            """, to: "certutil.text")
        let certutil = directory.path + "/certutil"
        #expect(chmod(certutil + ".text", 0o755) == 0)
        // Another process writes it: a file that this one has just written may be open in a child of another test, which
        // is about to become another program, and the system runs no file that is open for writing.
        let copy = try Process.run(URL(filePath: "/bin/cp"), arguments: [certutil + ".text", certutil])
        copy.waitUntilExit()
        let store = TrustStore(kind: .nss(directory: "db"))
        #expect(try store.holdings(ofKeyIn: new.pem, certutil: certutil).names == ["larder-01"])
        #expect(store.removing(["larder-01"]) == [.run(["certutil", "-D", "-d", "sql:db", "-n", "larder-01"])])
        #expect(throws: TrustSteps.Failure.self) {
            try TrustStore(kind: .nss(directory: "other")).holdings(ofKeyIn: new.pem, certutil: certutil)
        }
        // One that cannot be listed is no obstacle as long as it has no name of Larder's.
        let mine = TrustStore(kind: .nss(directory: directory.path))
        try write("SQLite format 3 Another one", to: "cert9.db")
        #expect(try mine.holdings(ofKeyIn: new.pem, certutil: certutil).names == [])
        try write("SQLite format 3 larder-01", to: "cert9.db")
        #expect(throws: TrustSteps.Failure.self) { try mine.holdings(ofKeyIn: new.pem, certutil: certutil) }
    }

    @Test func `the daemon's CA is needed until no store has a certificate of its key`() throws {
        let authority = try authority()
        try write(authority.pem, to: "larder-01.crt")
        let kept = system("false")
        #expect(Untrust.remove(authority.pem, from: [kept], TrustSteps(mayAsk: false)) == [kept])
        try? FileManager.default.removeItem(atPath: directory.path + "/larder-01.crt")
        #expect(Untrust.remove(authority.pem, from: [kept], TrustSteps(mayAsk: false)).isEmpty)
    }

    @Test func `a certificate that cannot be read is nobody's to pass over, and keeps none of the others`() throws {
        let authority = try authority()
        try write(authority.pem, to: "larder-02.crt")
        // It is there, and nobody can read it as a file.
        let unreadable = directory.path + "/larder-01.crt"
        try FileManager.default.createDirectory(atPath: unreadable, withIntermediateDirectories: false)
        symlink("nowhere", directory.path + "/larder-03.crt")
        let store = system("true")
        let holdings = try store.holdings(ofKeyIn: authority.pem)
        #expect(holdings.names == ["larder-02"])
        #expect(holdings.unread.map(\.reason) == ["\(unreadable): it is not a file"])
        #expect(Untrust.remove(authority.pem, from: [store], TrustSteps(mayAsk: false)) == [store])
        #expect(access(directory.path + "/larder-02.crt", F_OK) != 0)
    }

    @Test func `a directory of certificates that cannot be read has not been found empty`() throws {
        let store = TrustStore(kind: .system(directory: directory.path + "/gone", command: ["true"]))
        let pem = try authority().pem
        #expect(throws: TrustSteps.Failure.self) { try store.holdings(ofKeyIn: pem) }
    }

    @Test func `of stores that are left it is said what they may trust, and how to remove it there`() {
        let text = Untrust.remainder(
            of: "AB:CD",
            in: [system("update-ca-certificates"), TrustStore(kind: .nss(directory: "/home/a/.pki/nssdb"))])
        for words in [
            "AB:CD", "\n  the system's store (\(directory.path))\n", "ls \(directory.path)/larder-*",
            "sudo rm \(directory.path)/larder-NAME.crt && sudo update-ca-certificates --fresh",
            "\n  the browser's database in /home/a/.pki/nssdb\n      certutil -L -d sql:/home/a/.pki/nssdb\n",
            "\n      certutil -D -d sql:/home/a/.pki/nssdb -n larder-NAME\n",
        ] {
            #expect(text.contains(words), "\(text)")
        }
    }

    @Test func `a browser's database is found without the program that changes it, and the lines for it are said`()
        throws
    {
        mkdir(directory.path + "/.pki", 0o700)
        mkdir(directory.path + "/.pki/nssdb", 0o700)
        try write("larder-01", to: ".pki/nssdb/cert9.db")
        let store = try #require(TrustStore.found(home: directory.path).last)
        #expect(store.kind == .nss(directory: directory.path + "/.pki/nssdb"))
        let pem = try authority().pem
        #expect {
            try store.holdings(ofKeyIn: pem, certutil: "/nowhere/certutil")
        } throws: { error in
            (error as? TrustSteps.Failure)?.line.contains("/nowhere/certutil -L -d sql:") == true
        }
    }

    @Test func `certificates of another CA of Larder's are named where none is of this one's key`() throws {
        let (mine, other) = (try authority(), try authority())
        try write(other.pem, to: "larder-0a.crt")
        let store = system("update-ca-certificates")
        let holdings = try store.holdings(ofKeyIn: mine.pem)
        #expect(holdings.names.isEmpty && holdings.others == ["larder-0a"])
        let note = Untrust.note(on: holdings.others, in: store)
        #expect(note.contains("larder-0a") && note.contains("sudo rm \(directory.path)/larder-0a.crt"), "\(note)")
        #expect(Untrust.note(on: [], in: store).isEmpty)
    }

    @Test func `without a CA there is nothing to undo, and no mistake`() throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 19\r\nConnection: close\r\n\r\n{\"authority\": null}"
        let peer = try ScriptedPeer(answer: answer)
        try withExtendedLifetime(peer) { try Untrust.parse(["--socket", peer.path]).run() }
    }
}
