// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderStores
import Logging

/// The credentials with which services have fetched what is stored for them, as keyed digests. Other ones may be another
/// user's, who must not get the former one's responses: not after a reload, and not after a restart, so they are kept in
/// a file beside the store.
struct CredentialMarks: Sendable {
    static let fileName = "credentials"
    /// The mark of services whose responses go with nothing.
    private static let none = "-"
    /// In the file, the mark of those whose former responses may still be on disk: it is no service's, so that the next
    /// start removes them again.
    private static let unsettled = "?"
    /// Octets of the file.
    private static let limit = 8 << 20
    /// Services that are in the configuration no more may come back; so many are remembered.
    private static let absentLimit = 10_000

    private var marks: [String: String] = [:]
    /// The services whose former responses may still be on disk, with numbers that tell changes apart.
    private(set) var open: [String: UInt64] = [:]
    private var lastChange: UInt64 = 0
    private let store: SQLiteStore?

    init(in store: SQLiteStore?) {
        self.store = store
        guard let octets = store?.contents(ofFile: Self.fileName, limit: Self.limit) else { return }
        for line in String(decoding: octets, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count >= 2 { marks[String(words[1])] = String(words[0]) }
        }
    }

    /// Takes the credentials of now for those of what is stored. Services that had others forget that; what loads under
    /// way bring is not stored.
    mutating func adopt(by proxy: Proxy, _ identities: IdentityDigest) {
        for service in adopt(proxy.configuration.router.table.services, identities) {
            proxy.wipe(service)
            proxy.logger.notice(
                "everything stored for a service was forgotten, as its credentials or variables changed",
                metadata: ["service": "\(service.name)"])
        }
    }

    private mutating func adopt(_ services: [RoutedService], _ identities: IdentityDigest) -> [RoutedService] {
        let before = marks
        var changed: [RoutedService] = []
        for service in services {
            let mark = service.ownCredentials.map { identities.partition(of: $0).name } ?? Self.none
            // Stored responses go by the service's name, whatever its base URL is.
            guard let known = marks.updateValue(mark, forKey: service.name), known != mark else { continue }
            lastChange += 1
            open[service.name] = lastChange
            changed.append(service)
        }
        if marks.count > services.count + Self.absentLimit {
            let present = Set(services.map(\.name))
            marks = marks.filter { present.contains($0.key) }
        }
        if marks != before { save() }
        return changed
    }

    /// The removals that these changes began are done.
    mutating func close(_ done: [String: UInt64]) {
        open = open.filter { done[$0.key] != $0.value }
        save()
    }

    /// Where it cannot be written, the next start forgets once more what is forgotten already.
    private func save() {
        let lines = marks.map { "\(open[$0.key] == nil ? $0.value : Self.unsettled) \($0.key)\n" }.sorted()
        store?.replace(file: Self.fileName, with: Array(lines.joined().utf8))
    }
}
