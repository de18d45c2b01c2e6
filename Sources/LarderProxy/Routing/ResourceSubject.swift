// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP

/// The subject of an operator's command: a URL as Larder would route it, without a request.
package struct ResourceSubject: Sendable {
    package let service: RoutedService
    package let way: Way
    package let uri: TargetURI
    /// Path and query as they were written, where that is not the normal form; else empty.
    package let spelling: [UInt8]
    /// The request content that is part of the key, as `larder list` writes it behind the URL.
    package var content: ContentMark?
    /// The changes that a route made to the given URL.
    package var rewriting: RouteRewriting?

    /// The method whose responses are stored here.
    package var method: LarderHTTP.Method { content?.method ?? .get }

    package func key(in partition: Larder.Partition) -> ResourceKey {
        var key = ResourceKey()
        key.set(
            service: service.number, partition: partition, url: uri, spelling: spelling, content: content)
        return key
    }

    /// The URL as it is forwarded and stored.
    package var url: String { key(in: .shared).url }
}
