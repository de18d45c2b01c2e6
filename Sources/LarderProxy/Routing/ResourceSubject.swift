// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
package import LarderSettings

/// The subject of an operator's command: a URL as Larder would route it, without a request.
package struct ResourceSubject: Sendable {
    package let service: RoutedService
    package let form: RequestForm
    package let uri: TargetURI
    /// Path and query as they were written, where that is not the normal form; else empty.
    package let spelling: [UInt8]
    /// The request content that is part of the key, as `larder list` writes it behind the URL.
    package var content: ContentMark?
    /// The changes that a route made to the given URL.
    package var rewriting: RouteRewriting?

    package init(
        service: RoutedService, form: RequestForm = .forward, uri: TargetURI, spelling: [UInt8] = [],
        content: ContentMark? = nil, rewriting: RouteRewriting? = nil
    ) {
        (self.service, self.form, self.uri, self.spelling) = (service, form, uri, spelling)
        (self.content, self.rewriting) = (content, rewriting)
    }

    /// The subject that has `key`; nil if the URL of `key` is not a URL of an origin.
    init?(_ key: ResourceKey, _ service: RoutedService) {
        guard let uri = ResourceURL(key.plainURL).target else { return nil }
        // Path and query as they are in the key, where that is not the normal form.
        let prefix = uri.withBytes(of: 0..<uri.pathRange.lowerBound) { $0.count }
        self.init(
            service: service, uri: uri, spelling: key.isFor(uri) ? [] : Array(key.plainURL.utf8.dropFirst(prefix)),
            content: key.mark)
    }

    /// The method whose responses are stored here.
    package var method: LarderHTTP.Method { content?.method ?? .get }

    package func key(in partition: Larder.Partition) -> ResourceKey {
        var key = ResourceKey()
        key.set(
            service: service.number, partition: partition, url: uri, spelling: spelling, content: content)
        return key
    }

    /// The Resource in a partition, created if there is none.
    func resource(in partition: Larder.Partition, of registry: Registry) -> Resource {
        registry.resource(for: key(in: partition)) { key in
            service.makeResource(key: key, partition: partition, url: uri)
        }
    }

    /// The URL as it is forwarded and stored.
    package var url: String { key(in: .shared).url }
}

/// The effect of one of a service's routes on a URL, for people.
package struct RouteRewriting: Sendable, Equatable {
    /// The rule's index in the list, from 0.
    package var place: Int
    package var rule: RouteRule
    package var original: String
    package var result: String

    package init(place: Int, rule: RouteRule, original: String, result: String) {
        (self.place, self.rule, self.original, self.result) = (place, rule, original, result)
    }
}
