// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

extension Problem {
    private static func goingOnline(isLaneOffline: Bool) -> String {
        isLaneOffline
            ? "The command was started with `larder run --offline`: leave that out to have the origin asked."
            : "Go online to have the origin asked: `larder offline off`."
    }

    /// - Parameter stored: the nearest stored URLs; nil for a client who may not see any.
    static func offline(uri: TargetURI, stored: [String]?, isLaneOffline: Bool) -> Problem {
        let goingOnline = goingOnline(isLaneOffline: isLaneOffline)
        var near = ""
        if let stored {
            near =
                stored.isEmpty
                ? " Nothing near it is stored."
                : " Stored are: " + stored.map { String($0.prefix(500)) }.joined(separator: ", ")
        }
        return Problem(
            status: 504, title: "Offline", proxyError: .destinationUnavailable,
            detail:
                "Nothing stored may answer for \(uri.string.prefix(500)), and origins are not asked (offline).\(near)",
            advice: stored?.isEmpty ?? true ? goingOnline : "Use one of these. \(goingOnline)")
    }

    /// For requests that stored responses never answer: writes, tunnels.
    static func offline(_ method: Method, to place: String, isLaneOffline: Bool) -> Problem {
        Problem(
            status: 504, title: "Offline", proxyError: .destinationUnavailable,
            detail: "\(method) needs \(place), and origins are not asked (offline).",
            advice: goingOnline(isLaneOffline: isLaneOffline))
    }
}
