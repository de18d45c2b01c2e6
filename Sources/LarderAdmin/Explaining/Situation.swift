// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules

/// Everything an explanation depends on, as it was at one moment: a value, so that explaining is a function.
struct Situation: Sendable {
    var service: RoutedService
    var way: Way
    var uri: TargetURI
    /// The URL as it is forwarded and stored.
    var url: String
    /// The request that is imagined, a GET.
    var request: RequestHead
    var partition: Larder.Partition
    /// Newest first.
    var variants: [Variant] = []
    var isInMemory = false
    var failure: LoadFailure?
    var isLoading = false
    var unstored: UnstoredResponse?
    var now: Timestamp

    init(
        service: RoutedService, way: Way, uri: TargetURI, url: String? = nil, fields: Fields = Fields(), now: Timestamp
    ) {
        self.service = service
        self.way = way
        self.uri = uri
        self.url = url ?? uri.string
        var head = RequestHead(method: .get, target: uri.pathAndQuery, fields: fields)
        head.fields[.host] = uri.authority
        request = head
        partition = service.partition(of: head.fields)
        self.now = now
    }

    /// Looks into memory and store, changes neither, and asks nobody else.
    init(_ subject: ResourceSubject, fields: Fields, in proxy: Proxy) async {
        self.init(
            service: subject.service, way: subject.way, uri: subject.uri, url: subject.url, fields: fields,
            now: proxy.now)
        let key = subject.key(in: partition)
        let memory = proxy.registry.resource(for: key)?.memory
        if let memory {
            let snapshot = memory.snapshot
            variants = snapshot.variants
            failure = snapshot.failure
            isLoading = !memory.flights.isEmpty
            unstored = memory.unstored
            isInMemory = !snapshot.variants.isEmpty
        }
        if variants.isEmpty, let storing = proxy.storing {
            variants = await storing.peek(key.url, partition: partition, service: service.name, policy: policy)
        }
    }

    var configuration: EffectiveConfiguration { service.configuration(for: uri, method: .get) }
    var policy: CachePolicy { configuration.policy }
}
