// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderStores
import Logging

/// The credentials with which services of one user (`privacy: private`) have fetched what is stored for them, as keyed
/// digests. Another token may be another user's, who must not get the former one's responses: not after a reload, and
/// not after a restart, so they are kept in a file beside the store.
struct CredentialMarks: Sendable {
    static let fileName = "credentials"
    /// Octets of the file.
    private static let limit = 8 << 20
    /// Services that are in the configuration no more may come back; so many are remembered.
    private static let absentLimit = 10_000

    private var marks: [String: String] = [:]
    private let store: SQLiteStore?

    init(in store: SQLiteStore?) {
        self.store = store
        guard let octets = store?.contents(ofFile: Self.fileName, limit: Self.limit) else { return }
        for line in String(decoding: octets, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1)
            if words.count == 2 { marks[String(words[1])] = String(words[0]) }
        }
    }

    /// Takes the credentials of now for those of what is stored. Services that had others forget that; what loads under
    /// way bring is not stored.
    mutating func adopt(by proxy: Proxy, _ identities: IdentityDigest) {
        for service in adopt(proxy.configuration.router.table.services, identities) {
            proxy.wipe(service)
            proxy.logger.notice(
                "everything stored for a service was forgotten, as its credentials changed",
                metadata: ["service": "\(service.name)"])
        }
    }

    private mutating func adopt(_ services: [RoutedService], _ identities: IdentityDigest) -> [RoutedService] {
        let before = marks
        var changed: [RoutedService] = []
        for service in services {
            guard let credentials = service.ownCredentials else { continue }
            let mark = identities.partition(of: credentials).name
            if let known = marks.updateValue(mark, forKey: Self.name(of: service)), known != mark {
                changed.append(service)
            }
        }
        if marks.count > services.count + Self.absentLimit {
            let present = Set(services.map(Self.name))
            marks = marks.filter { present.contains($0.key) }
        }
        if marks != before { save() }
        return changed
    }

    /// Where it cannot be written, the next start forgets once more what is forgotten already.
    private func save() {
        let lines = marks.map { "\($0.value) \($0.key)\n" }.sorted()
        store?.replace(file: Self.fileName, with: Array(lines.joined().utf8))
    }

    private static func name(of service: RoutedService) -> String {
        "\(service.name) \(service.base?.string ?? "")"
    }
}
