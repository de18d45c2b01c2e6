// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderUpstream

/// Sends the model's own requests over the proxy's loops and connections: requests of decorators, of `afterWrite`, and
/// of services written in Swift.
package final class ProxyTransport: UpstreamTransport {
    private let proxy = Expected<Proxy>()

    package init() {}

    /// Services are created before the proxy that serves them; until then requests wait.
    package func attach(_ proxy: Proxy) { self.proxy.fulfil(proxy) }

    /// There will be no proxy: requests fail.
    package func giveUp() { proxy.giveUp() }

    package func send(_ request: OutgoingRequest, progress: TransferProgress) async throws -> IncomingResponse {
        guard let proxy = await proxy.wait()?.running.wait() else {
            throw UpstreamError(.internalError, "The proxy is not running.")
        }
        return try await proxy.send(request)
    }
}

extension Proxy {
    /// Sends a request of the model and reads the whole response, up to the memory limit for one resource.
    func send(_ request: OutgoingRequest) async throws -> IncomingResponse {
        let table = configuration.router.table
        let service = table.claiming(request.url) ?? table.unclaimed
        guard offline.mode(of: service.name, configured: service.settings.offline ?? .off) != .on else {
            throw UpstreamError(
                .destinationUnavailable, "Origins are not asked (offline).", advice: "Go online: `larder offline off`.")
        }
        let limit = configuration.memoryObjectLimit
        return try await anyContext().run { context in
            var head = RequestHead(method: request.method, target: request.url.pathAndQuery, fields: request.fields)
            head.fields[.host] = request.url.authority
            head.fields.append(.via, context.via(to: request.url))
            var inbound = UpstreamRequest(
                origin: Origin(request.url), head: head, parent: service.parent(request.url))
            if let body = request.body {
                var pending: ContentChunk? = ContentChunk(body)
                inbound.content = .stream(
                    .length(UInt64(body.count)), next: { pending.take() }, trailers: { Fields() })
            }
            inbound.belongsToService = service.base != nil
            inbound.tls = service.tls(for: request.url)
            inbound.bypassesBackoff =
                !request.method.isSafe || CacheControl.Request(request.fields).bypassesBackoff
            let response = try await context.send(inbound)
            var content: [UInt8] = []
            while let chunk = try await response.nextChunk() {
                chunk.withBytes { content.append(contentsOf: $0) }
                guard content.count <= limit else {
                    response.abort()
                    throw UpstreamError(.internalError, "The response is larger than memory takes (\(limit) octets).")
                }
            }
            return IncomingResponse(response: response.head, body: content)
        }
    }
}
