// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderRules
import LarderStores

/// One request of a command and its response, as kept in a recording.
package struct RecordedExchange: Sendable, Equatable {
    package var method: String
    package var url: String
    /// End-to-end fields of the request, without credentials: those are never saved.
    package var requestFields: Fields
    package var requestContent: [UInt8]
    package var began: Timestamp
    package var duration: Duration
    package var status: Status
    /// End-to-end fields of the response, as the client received them.
    package var fields: Fields
    package var content: [UInt8]

    package init(
        method: String, url: String, requestFields: Fields = Fields(), requestContent: [UInt8] = [],
        began: Timestamp = Timestamp(nanoseconds: 0), duration: Duration = .zero, status: Status = 200,
        fields: Fields = Fields(), content: [UInt8] = []
    ) {
        self.method = method
        self.url = url
        self.requestFields = requestFields
        self.requestContent = requestContent
        self.began = began
        self.duration = duration
        self.status = status
        self.fields = fields
        self.content = content
    }

    /// The properties that another request must share with this request to get the recorded response.
    package var key: RecordingKey {
        RecordingKey(method: method, url: url, range: requestFields[.range], content: requestContent)
    }

    /// Bytes that count towards the limit of a recording.
    package var size: Int {
        requestContent.count + content.count + url.utf8.count + requestFields.octetCount + fields.octetCount + 512
    }

    /// At most as many JSON values as its archive has, with those inside of others: three for each line of a field and
    /// parameter of the URL.
    package var valueCount: Int {
        let parameters = 1 + url.utf8.count { $0 == UInt8(ascii: "&") }
        return 40 + 3 * (requestFields.count + fields.count + parameters)
    }
}

/// Identifies a request in a recording: method, URL, range and content, byte for byte.
package struct RecordingKey: Hashable, Sendable {
    private let method: String
    private let url: String
    private let range: String?
    private let digest: ContentDigest

    package init(method: String, url: String, range: String?, content: [UInt8]) {
        self.method = method
        self.url = url
        self.range = range
        digest = ContentDigest(of: content)
    }
}
