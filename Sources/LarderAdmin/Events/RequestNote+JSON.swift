// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules

extension RequestNote {
    var json: JSONValue { .object(object) }

    var object: JSONObject {
        [
            "number": .integer(number), "at": .time(at), "method": .string(method), "url": .string(shownURL),
            "service": .string(service), "client": .string(client), "user": user.map { .string($0) } ?? .null,
            "status": .integer(status),
            "outcome": .string("\(kind)"), "reason": .string(reason),
            "cacheStatus": cacheStatus.map { .string($0.member()) } ?? .null,
            "problem": problem.map { .string($0) } ?? .null, "bytes": .integer(bytes),
            "seconds": .decimal(Double(nanoseconds) / 1e9, places: 6),
        ]
    }
}
