// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderStores
import Logging

/// The credentials with which services have fetched what is stored for them, as keyed digests. Other ones may be another
/// user's, who must not get the former one's responses: not after a reload, and not after a restart, so they are kept in
/// a file beside the store. Where the file does not know a service with credentials, nobody knows whose its stored
/// responses are, and they go.
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
    /// Stands behind the number of marks in the last line.
    private static let end = "marks"

    private var marks: [String: String] = [:]
    /// The services whose former responses may still be on disk, with numbers that tell changes apart.
    private(set) var open: [String: UInt64] = [:]
    private var lastChange: UInt64 = 0
    private let store: SQLiteStore?

    init(in store: SQLiteStore?) {
        self.store = store
        guard let octets = store?.contents(ofFile: Self.fileName, limit: Self.limit) else { return }
        marks = Self.parse(String(decoding: octets, as: UTF8.self)) ?? [:]
    }

    /// Nil unless `text` is a whole file.
    private static func parse(_ text: String) -> [String: String]? {
        var marks: [String: String] = [:]
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        // Each line has an end.
        guard lines.popLast() == "", lines.popLast() == "\(lines.count) \(end)" else { return nil }
        for line in lines {
            let words = line.split(separator: " ", omittingEmptySubsequences: false)
            guard words.count == 2 else { return nil }
            marks[String(words[1])] = String(words[0])
        }
        return marks
    }

    /// Takes the credentials of now for those of what is stored. Services that had others forget that; what loads under
    /// way bring is not stored.
    mutating func adopt(by proxy: Proxy, _ identities: IdentityDigest) {
        for (service, isKnown) in adopt(proxy.configuration.router.table.services, identities) {
            proxy.wipe(service)
            proxy.logger.log(
                level: isKnown ? .notice : .debug,
                "everything stored for a service was forgotten, as its credentials or variables changed",
                metadata: ["service": "\(service.name)"])
        }
    }

    private mutating func adopt(
        _ services: [RoutedService], _ identities: IdentityDigest
    ) -> [(service: RoutedService, isKnown: Bool)] {
        let before = marks
        var changed: [(service: RoutedService, isKnown: Bool)] = []
        for service in services {
            let mark = service.ownCredentials.map { identities.partition(of: $0).name } ?? Self.none
            // Stored responses go by the service's name, whatever its base URL is.
            let known = marks.updateValue(mark, forKey: service.name)
            guard (known ?? Self.none) != mark else { continue }
            lastChange += 1
            open[service.name] = lastChange
            changed.append((service, known != nil))
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

    /// Where it cannot be written, no file is better than the old one: it would be wrong once the old marks are back.
    private func save() {
        let lines = marks.map { "\(open[$0.key] == nil ? $0.value : Self.unsettled) \($0.key)\n" }.sorted()
        let text = lines.joined() + "\(lines.count) \(Self.end)\n"
        if store?.replace(file: Self.fileName, with: Array(text.utf8)) == false { store?.remove(file: Self.fileName) }
    }
}
