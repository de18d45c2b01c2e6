// SPDX-License-Identifier: Apache-2.0
import LarderTesting

extension String {
    /// The octets of a response with a length, as a script returns them.
    static func response(_ status: Int, _ lines: String..., content: String = "") -> String {
        OriginRequest.response(status, lines, content: content)
    }

    /// A 200 with these field lines.
    static func ok(_ lines: String..., content: String = "") -> String {
        OriginRequest.response(200, lines, content: content)
    }
}
