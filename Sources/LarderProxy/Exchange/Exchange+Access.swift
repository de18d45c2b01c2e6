// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO

extension Exchange {
    /// For whom the request is, as RFC 7239 §4 writes it; nil when origins are not told.
    var forwardedElement: String? {
        guard context.configuration.settings.forwarded == .add else { return nil }
        let peer = stream.peerAddress
        let client = peer.isIPv6 ? "\"[\(peer.host)]\"" : peer.host
        let host = head.fields[first: .host].map { ";host=\"\($0)\"" } ?? ""
        return "for=\(client);proto=\(stream.isSecure ? "https" : "http")\(host)"
    }

    /// Where this client stands.
    var reach: Reach { Reach(isLoopback: connection.client.isLoopback) }

    /// Whose Resource the request is about.
    func partition(in service: RoutedService) -> Larder.Partition {
        service.partition(
            of: head.fields, for: uri, from: reach, client: service.isKeyedByHead ? nil : connection.identity)
    }
}
