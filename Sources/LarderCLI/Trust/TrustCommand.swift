// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Larder
import LarderHTTP

/// `larder trust`
struct Trust: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust",
        abstract: "Have programs on this machine trust the daemon's local CA.",
        discussion: """
            The daemon's CA is made if there is none. Its certificate is put where programs look for authorities: the \
            system's store, and with `certutil` the databases of Chromium and Firefox. For what cannot be reached, the \
            line is printed that does it.

            A program that trusts the CA lets Larder answer for the hosts of `intercept.hosts`. The key stays with the \
            daemon.
            """)

    @Flag(name: .customLong("print"), help: "Print the certificate in PEM and do nothing else.")
    var prints = false

    @Flag(help: "Make the CA last for another year, and trust its new certificate; the old one counts until it ends.")
    var renew = false

    @Flag(name: .shortAndLong, help: "Do not ask.")
    var yes = false

    @OptionGroup var place: SocketOptions

    func run() throws {
        let client = try ClientOptions.of(place).adminClient()
        if prints {
            return Terminal.write(String(decoding: try client.send(.get, "/-/ca.pem", accept: "*/*"), as: UTF8.self))
        }
        guard let authority = try LocalCA(client, method: .post, renew: renew) else {
            throw CommandFailure("the daemon has made no local CA")
        }
        let environment = ProcessInfo.processInfo.environment
        let isTerminal = isatty(0) == 1
        Terminal.write(authority.introduction)
        let stores = TrustStore.found(home: environment["HOME"])
        if !stores.isEmpty, !yes {
            guard isTerminal else {
                throw CommandFailure(
                    "nobody is there to say yes", advice: "look at the fingerprint, then run `larder trust --yes`")
            }
            Terminal.write("Trust it in\n" + stores.map { "  \($0.name)\n" }.joined() + "now? [y/N] ")
            guard ["y", "yes"].contains((readLine() ?? "").lowercased()) else {
                Terminal.write("Nothing was changed.\n")
                throw ExitCode.failure
            }
        }
        let file: String
        do {
            file = try WrittenFile.makeDirectory("larder-trust", environment: environment) + "/larder-ca.pem"
            try WrittenFile.write(Array(authority.pem.utf8), to: file)
        } catch {
            throw CommandFailure("cannot write the certificate to a file: \(error)")
        }
        defer {
            unlink(file)
            rmdir(String(file.dropLast("/larder-ca.pem".utf8.count)))
        }
        var isComplete = true
        for store in stores {
            do throws(TrustSteps.Failure) {
                try TrustSteps(mayAsk: isTerminal).perform(store.installing(file, as: authority.fileName))
                Terminal.write("ok    \(store.name)\n")
            } catch {
                isComplete = false
                Terminal.write(
                    "FAIL  \(store.name)\n      \(error.reason)\n      by hand: larder trust --print > larder-ca.pem; "
                        + error.line.replacing(file, with: "larder-ca.pem") + "\n")
            }
        }
        // Programs that have refused it are asked again. An older daemon does not know how.
        _ = try? client.send(.delete, "/-/ca/refusals")
        Terminal.write(LocalCA.byHand)
        if !isComplete { throw ExitCode.failure }
    }
}

/// `larder untrust`
struct Untrust: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "untrust",
        abstract: "Undo `larder trust`, and remove the daemon's local CA with its key.",
        discussion: """
            The CA's certificates, those before it was renewed as well, are taken out of the system's store and the \
            databases of browsers, and the daemon forgets CA and key: https passes unseen from then on. If a store could \
            not be changed or read, the daemon keeps both, so that this command can be repeated; --force leaves such stores \
            as they are, and lists them. Hosts in `intercept.hosts` get a new CA at the next start; remove them as well.
            """)

    @Flag(help: "Remove CA and key although a store may still trust a certificate of it.")
    var force = false

    @OptionGroup var place: SocketOptions

    func run() throws {
        let client = try ClientOptions.of(place).adminClient()
        guard let authority = try LocalCA(client, method: .get, renew: false) else {
            return Terminal.write(Untrust.nothing)
        }
        let stores = TrustStore.found(home: ProcessInfo.processInfo.environment["HOME"])
        let left = Untrust.remove(authority.pem, from: stores, TrustSteps(mayAsk: isatty(0) == 1))
        guard left.isEmpty || force else {
            Terminal.write(
                """
                The daemon keeps its CA: remove the rest by hand, then run `larder untrust` again. \
                `larder untrust --force` leaves it there.

                """)
            throw ExitCode.failure
        }
        _ = try client.send(.delete, "/-/ca")
        Terminal.write("The daemon has forgotten its CA and removed the key.\n")
        if !left.isEmpty { Terminal.write(Untrust.remainder(of: authority.fingerprint, in: left)) }
    }

    static let nothing = """
        The daemon has no local CA: nothing was changed. If a store still has one of an earlier CA, its name begins with \
        \(LocalCA.namePrefix).

        """

    /// Takes all certificates of the CA's key out of stores. Returns those that may still have any: the CA is needed to
    /// find them.
    static func remove(
        _ certificate: String, from stores: [TrustStore], _ performer: TrustSteps
    ) -> [TrustStore] {
        stores.filter { store in
            var failures: [TrustSteps.Failure] = []
            do throws(TrustSteps.Failure) {
                let holdings = try store.holdings(ofKeyIn: certificate)
                failures = holdings.unread
                let steps = store.removing(holdings.names)
                try performer.perform(steps)
                if !steps.isEmpty, failures.isEmpty { Terminal.write("ok    \(store.name)\n") }
                if steps.isEmpty { Terminal.write(Untrust.note(on: holdings.others, in: store)) }
            } catch {
                failures.append(error)
            }
            if !failures.isEmpty { Terminal.write("FAIL  \(store.name)\n") }
            for failure in failures { Terminal.write("      \(failure.reason)\n      by hand: \(failure.line)\n") }
            return !failures.isEmpty
        }
    }

    /// The words about entries of Larder's where none is of this CA's key: nobody knows here whether they are wanted.
    static func note(on others: [String], in store: TrustStore) -> String {
        guard !others.isEmpty else { return "" }
        let line = store.removing(others).map(TrustSteps.line).joined(separator: " && ")
        return "kept  \(store.name)\n      of another CA of Larder's: \(others.joined(separator: ", "))\n"
            + "      if no daemon has that any more: \(line)\n"
    }

    /// The words about stores that were left as they are when nothing can tell any more which entries were the CA's.
    static func remainder(of fingerprint: String, in stores: [TrustStore]) -> String {
        let lines = stores.flatMap { store in ["  \(store.name)"] + store.linesByHand.map { "      \($0)" } }
        return """

            These may still trust a certificate of it, whose key nobody has any more. Its SHA-256 is
              \(Outline.printable(fingerprint))
            and it has others if it was renewed. Their names begin with \(LocalCA.namePrefix); to look, and to remove one:
            \(lines.joined(separator: "\n"))

            """
    }
}

/// The daemon's CA as the commands see it.
struct LocalCA {
    let name, fingerprint, notAfter, pem: String

    /// Nil where the daemon has none.
    ///
    /// - Parameter method: POST creates a CA if there is none.
    init?(_ client: AdminClient, method: LarderHTTP.Method, renew: Bool) throws {
        let target = AdminClient.target("/-/ca", renew ? [("renew", "true")] : [])
        let answer = try JSONValue(parsing: try client.send(method, target))["authority"]
        guard let fingerprint = answer?["fingerprint"]?.string else { return nil }
        self.fingerprint = fingerprint
        name = answer?["name"]?.string ?? "?"
        notAfter = answer?["notAfter"]?.string ?? "?"
        pem = String(decoding: try client.send(.get, "/-/ca.pem", accept: "*/*"), as: UTF8.self)
    }

    static let namePrefix = "larder-"

    /// The name of its files and entries, unique to each certificate.
    var fileName: String { LocalCA.namePrefix + fingerprint.split(separator: ":").prefix(8).joined().lowercased() }

    var introduction: String {
        """
        \(Outline.printable(name))
          SHA-256   \(Outline.printable(fingerprint))
          until     \(Outline.printable(notAfter))

        Programs that trust it accept Larder's answers for the https hosts of `intercept.hosts`, and for no others as \
        long as only
        the daemon has the key, which stays in its state directory. `larder untrust` takes all of it back.


        """
    }

    /// For programs with authorities elsewhere.
    static let byHand = """

        Some programs have authorities of their own. With `larder trust --print > larder-ca.pem`:
          Python      export REQUESTS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt
          Node        export NODE_EXTRA_CA_CERTS=$PWD/larder-ca.pem
          Java        keytool -importcert -cacerts -storepass changeit -alias larder -file larder-ca.pem
          Git         git config --global http.sslCAInfo /etc/ssl/certs/ca-certificates.crt
          Flatpak     its programs use the system's store through p11-kit-server
          containers  mount larder-ca.pem, and put it into the image's own store


        """
}
