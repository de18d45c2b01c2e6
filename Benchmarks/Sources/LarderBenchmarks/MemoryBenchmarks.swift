// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderRules

extension Benchmark {
    /// Finding a Resource, and the pieces of answering from it.
    static var memory: [Benchmark] {
        get throws {
            let shelf = try Shelf(count: 10_000)
            return [
                Benchmark("memory/key") { count in
                    var key = ResourceKey()
                    for index in 0..<count {
                        key.set(service: 1, partition: .shared, url: shelf.urls[index % 1000])
                        keep(key.hash)
                    }
                },
                Benchmark("memory/lookup-10000") { count in
                    var key = ResourceKey()
                    for index in 0..<count {
                        key.set(service: 1, partition: .shared, url: shelf.urls[(index &* 7919) % shelf.urls.count])
                        keep(shelf.registry.resource(for: key))
                    }
                },
                Benchmark("memory/insert-and-evict") { count in
                    let registry = Registry(limit: 1 << 20)
                    var key = ResourceKey()
                    for index in 0..<count {
                        key.set(service: UInt32(truncatingIfNeeded: index), partition: .shared, url: shelf.urls[0])
                        keep(registry.resource(for: key) { shelf.make($0, shelf.urls[0]) })
                    }
                },
                Benchmark("hit/snapshot") { count in
                    for _ in 0..<count { keep(shelf.resource.memory.snapshot.variants.count) }
                },
                Benchmark("hit/prepared-head") { count in
                    let variant = shelf.resource.memory.snapshot.variants[0]
                    var out: [UInt8] = []
                    for index in 0..<count {
                        out.removeAll(keepingCapacity: true)
                        out.append(contentsOf: variant.head)
                        PreparedHead.appendField("Age", number: Int64(index & 63), to: &out)
                        PreparedHead.appendField("Cache-Status", to: &out) {
                            $0.append(contentsOf: "Larder; hit; ttl=".utf8)
                            $0.append(decimal: Int64(60))
                        }
                        PreparedHead.appendLineEnd(to: &out)
                        keep(out.count)
                    }
                },
                Benchmark("hit/prepare-head") { count in
                    for _ in 0..<count {
                        keep(PreparedHead.make(status: 200, fields: Samples.fields, length: 1024, via: "1.1 larder"))
                    }
                },
            ]
        }
    }
}

/// A registry with Resources in it, one of which has a variant.
struct Shelf {
    let registry = Registry(limit: 1 << 30)
    let urls: [TargetURI]
    let resource: Resource
    private let service = Service("benchmark", baseURL: "http://api.example/", transport: NoTransport())

    init(count: Int) throws {
        urls = try (0..<count).map { try TargetURI("http://api.example/users/\($0)/repositories?page=2") }
        let registry = registry
        let service = service
        var first: Resource?
        for url in urls {
            var key = ResourceKey()
            key.set(service: 1, partition: .shared, url: url)
            let made = registry.resource(for: key) {
                Resource(service: service, url: ResourceURL(url), partition: .shared, key: $0)
            }
            if first == nil { first = made }
        }
        resource = first ?? Resource(service: service, url: ResourceURL(urls[0]), partition: .shared)
        resource.memory.land(Shelf.variant())
    }

    func make(_ key: ResourceKey, _ url: TargetURI) -> Resource {
        Resource(service: service, url: ResourceURL(url), partition: .shared, key: key)
    }

    static func variant() -> Variant {
        let chunk = ContentChunk([UInt8](repeating: 0x78, count: 1024))
        return Variant(
            stored: stored(), content: .memory([chunk], length: chunk.count),
            storedAt: Timestamp(seconds: 1_700_000_000),
            via: "1.1 larder")
    }

    static func stored() -> StoredResponse {
        StoredResponse(
            Samples.head, to: Samples.request, requestTime: Timestamp(seconds: 1_700_000_000),
            responseTime: Timestamp(seconds: 1_700_000_000), contentLength: 1024, policy: CachePolicy())
    }
}

/// Nothing is asked of an origin here.
private struct NoTransport: UpstreamTransport {
    struct Unreachable: Error {}

    func send(_ request: OutgoingRequest, progress: TransferProgress) async throws -> IncomingResponse {
        throw Unreachable()
    }
}
