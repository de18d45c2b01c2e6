// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// A load brought other content than what was stored before.
package struct ContentChange: Sendable, Hashable {
    /// The URL as it is stored.
    package var url: String
    package var service: String
    package var status: Status
    package var at: Timestamp
    /// SHA-256 of the contents, in hexadecimal digits.
    package var oldDigest, newDigest: String

    package init(
        url: String, service: String, status: Status, at now: Timestamp, oldDigest: String, newDigest: String
    ) {
        self.url = url
        self.service = service
        self.status = status
        at = now
        self.oldDigest = oldDigest
        self.newDigest = newDigest
    }

    /// Both as one; nil when the content is what it was before.
    func followed(by later: ContentChange) -> ContentChange? {
        var both = later
        // Otherwise it is the content for other requests, or something else came in between.
        if later.oldDigest == newDigest { both.oldDigest = oldDigest }
        return both.oldDigest == both.newDigest ? nil : both
    }

    /// For programs and webhooks: neither content nor fields of any message.
    package var json: String {
        let members = [
            ("event", "change"), ("url", url), ("service", service), ("time", ISOTime.string(at, milliseconds: true)),
        ].map { "\(JSONText.string($0)):\(JSONText.string($1))" }
        let digests = [("oldDigest", oldDigest), ("newDigest", newDigest)]
            .map { "\(JSONText.string($0)):\(JSONText.string("sha256:" + $1))" }
        return "{" + (members + ["\"status\":\(status.rawValue)"] + digests).joined(separator: ",") + "}\n"
    }
}
