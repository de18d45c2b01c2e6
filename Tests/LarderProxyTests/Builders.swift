// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderRules
import LarderSettings
import LarderTesting

@testable import Larder
@testable import LarderProxy

extension StoredResponse {
    /// A 200 as stored at second 1000, for a request with the given fields.
    static func stored(
        _ fields: Fields = [:], request: Fields = [:], status: Status = 200, at seconds: Int64 = 1000
    ) -> StoredResponse {
        StoredResponse(
            ResponseHead(status: status, fields: fields), to: RequestHead(fields: request),
            requestTime: Timestamp(seconds: seconds), responseTime: Timestamp(seconds: seconds), policy: CachePolicy())
    }
}

extension Variant {
    /// A variant in memory with that content.
    static func variant(
        _ content: String = "", fields: Fields = [:], request: Fields = [:], at seconds: Int64 = 1000
    ) -> Variant {
        let chunk = ContentChunk(content.utf8)
        return Variant(
            stored: .stored(fields, request: request, at: seconds), content: .memory([chunk], length: chunk.count),
            storedAt: Timestamp(seconds: seconds), via: "1.1 larder")
    }
}
