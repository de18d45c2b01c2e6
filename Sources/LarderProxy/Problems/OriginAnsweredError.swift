// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The origin answered with an error, and a stored response answers in its place.
struct OriginAnsweredError: Error, CustomStringConvertible {
    let status: Status

    var description: String { "the origin answered \(status.rawValue) \(status.phrase)" }
}
