// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderSettings

extension Exchange {
    /// The client, as RFC 7239 §4 writes it; nil when origins are not told.
    var forwardedElement: String? {
        guard context.configuration.settings.forwarded == .add else { return nil }
        let peer = stream.peerAddress
        let client = peer.isIPv6 ? "\"[\(peer.host)]\"" : peer.host
        let host = head.fields[first: .host].map { ";host=\"\($0)\"" } ?? ""
        return "for=\(client);proto=\(stream.isSecure ? "https" : "http")\(host)"
    }

    /// The network of this client.
    var reach: Reach { Reach(isLoopback: connection.client.isLoopback) }

    /// The partition of the request's Resource.
    func partition(in service: RoutedService) -> Larder.Partition {
        guard !service.isKeyedByHead else { return service.partition(of: head.fields, for: uri, from: reach) }
        return service.partition(
            of: head.fields, for: uri, from: reach, client: connection.identity, user: userIdentity)
    }

    /// The identity of the proven user, which no other has, whatever their names are.
    private var userIdentity: String? {
        switch principal {
        case .user(let user): UserTable.identity(ofUser: user.name)
        case .certificate: connection.identity
        case .anyone, .lane: nil
        }
    }
}
