// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderStores
import Logging

/// Keyed digests of the credentials with which services fetched their stored responses. Other credentials may belong to
/// another user, who must not get the former user's responses after a reload or a restart, so the digests are kept in a
/// file beside the store. If the file does not list a service with credentials, the owner of its stored responses is
/// unknown, and they are removed. If the file is missing or incomplete, the stored responses of all services are
/// removed, including services that are not in the configuration.
struct CredentialMarks: Sendable {
    static let fileName = "credentials"
    /// The mark of a service whose responses do not depend on credentials.
    private static let none = "-"
    /// The mark, in the file only, of a service whose former responses may still be on disk. It equals no service's
    /// mark, so the next start removes these responses again.
    private static let unsettled = "?"
    /// Bytes of the file.
    private static let limit = 8 << 20
    /// The key in `open` that represents all services that are not in the configuration; no service has this name.
    private static let absent = ""
    /// The number of removed services whose marks are kept: a service may return to the configuration.
    private static let absentLimit = 10_000
    /// The word after the number of marks in the last line.
    private static let end = "marks"

    private var marks: [String: String] = [:]
    /// The services whose former responses may still be on disk, with numbers that tell changes apart.
    private(set) var open: [String: UInt64] = [:]
    private var lastChange: UInt64 = 0
    private let store: SQLiteStore?
    /// True if there was no whole file beside stored responses, until they are gone. There is none again before that.
    private var isLost: Bool
    /// True if there is a file, even if no service has a mark: without one, the next start would not know that.
    private var isWritten = false

    init(in store: SQLiteStore?) {
        self.store = store
        isLost = store.map { !$0.isNew } ?? false
        guard let octets = store?.contents(ofFile: Self.fileName, limit: Self.limit),
            let found = Self.parse(String(decoding: octets, as: UTF8.self))
        else { return }
        marks = found
        isLost = false
        isWritten = true
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

    /// Records the current credentials as the owners of stored responses. Wipes services whose credentials changed;
    /// their loads in flight are not stored.
    mutating func adopt(by proxy: Proxy) {
        let table = proxy.configuration.router.table
        if isLost, open.isEmpty { forgetAbsent(table, proxy) }
        for (service, isKnown) in adopt(table.services) {
            proxy.wipe(service)
            proxy.logger.log(
                level: isKnown ? .notice : .debug,
                "everything stored for a service was forgotten, as its credentials or variables changed",
                metadata: ["service": "\(service.name)"])
        }
    }

    /// Removes what is stored for services that are not in the configuration.
    private mutating func forgetAbsent(_ table: ServiceTable, _ proxy: Proxy) {
        let present = Set(table.all.map(\.name))
        store?.beginRemoval(EntityMatch(predicate: { !present.contains($0.service) }), because: .wiped)
        lastChange += 1
        open[Self.absent] = lastChange
        proxy.logger.notice(
            "what is stored for services is forgotten: the file that says with whose credentials it was got is not there, or damaged",
            metadata: ["file": "\(Self.fileName)"])
    }

    private mutating func adopt(_ services: [RoutedService]) -> [(service: RoutedService, isKnown: Bool)] {
        let before = marks
        var changed: [(service: RoutedService, isKnown: Bool)] = []
        for service in services {
            let mark = service.owner.isEmpty ? Self.none : service.owner
            // The service's name identifies its stored responses, also after its base URL has changed.
            let known = marks.updateValue(mark, forKey: service.name)
            guard (known ?? Self.none) != mark || isLost && known == nil else { continue }
            lastChange += 1
            open[service.name] = lastChange
            changed.append((service, known != nil))
        }
        if marks.count > services.count + Self.absentLimit {
            let present = Set(services.map(\.name))
            marks = marks.filter { present.contains($0.key) }
        }
        if marks != before || !isWritten { save() }
        return changed
    }

    /// The removals that these changes began are done.
    mutating func close(_ done: [String: UInt64]) {
        open = open.filter { done[$0.key] != $0.value }
        if open.isEmpty { isLost = false }
        save()
    }

    /// Writes the file, or removes it if it cannot be written: the old file would be wrong once the old marks return.
    private mutating func save() {
        guard !isLost else { return }
        isWritten = true
        let lines = marks.map { "\(open[$0.key] == nil ? $0.value : Self.unsettled) \($0.key)\n" }.sorted()
        let text = lines.joined() + "\(lines.count) \(Self.end)\n"
        if store?.replace(file: Self.fileName, with: Array(text.utf8)) == false { store?.remove(file: Self.fileName) }
    }
}
