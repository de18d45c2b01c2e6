// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The origin answered with an error, and what is stored stays.
struct OriginAnsweredError: Error, CustomStringConvertible {
    let status: Status

    var description: String { "the origin answered \(status)" }
}
