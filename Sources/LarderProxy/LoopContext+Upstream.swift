// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderUpstream
import Logging

extension LoopContext {
    /// A service as it is configured now, which may be later than this loop's configuration; nil when it is gone.
    func current(_ service: RoutedService) -> RoutedService? {
        proxy.configuration(orKnown: configuration).router.table.numbered(service.number)
    }

    /// True if a service speaks for another user by now than when `service` was its configuration: responses got with the
    /// former credentials are not stored any more.
    func hasOtherCredentials(than service: RoutedService) -> Bool {
        current(service).map { $0.ownCredentials != service.ownCredentials } ?? false
    }

    /// Sends a request inbound, unless its origin is in backoff: the state of an origin is shared by all clients, on
    /// every loop.
    ///
    /// - Throws: `UpstreamError`, with `hold` set when nothing was sent; else the errors of `UpstreamPool.send`.
    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        let limits = configuration.upstreamSettings.breaker
        let (origins, time) = (proxy.origins, loop.time)
        let ticket: OriginWatch.Ticket
        do throws(UpstreamError) {
            ticket = try origins.admit(request, limits: limits, now: time.monotonic())
        } catch {
            counters.add(.upstreamHeld)
            throw error
        }
        counters.add(.upstreamRequests)
        var telling: UpstreamRequest?
        if ticket.isProbe || origins.isNetworkLost {
            telling = request
            telling?.whenConnected = {
                origins.connected(request, ticket: ticket, limits: limits, now: time.monotonic())
            }
        }
        let span = tracer?.begin(telling ?? request)
        do {
            let response =
                if let sent = span?.request ?? telling { try await upstream.send(sent) } else {
                    try await upstream.send(request)
                }
            span?.answered(response)
            let pause = RetryAfter.pause(response.head, now: now()).map {
                min($0, configuration.upstreamSettings.retryAfterLimit)
            }
            origins.answered(
                request, status: response.head.status, pause: pause == .zero ? nil : pause, ticket: ticket,
                limits: limits, now: time.monotonic())
            return response
        } catch {
            span?.failed(error)
            let reason = request.abort.isAborted ? nil : error as? UpstreamError
            origins.failed(request, error: reason, ticket: ticket, limits: limits, now: time.monotonic())
            throw error
        }
    }
}

extension OriginWatch.Event {
    /// Logs one line for the change, for any number of requests that it concerns.
    func log(to logger: Logger) {
        switch self {
        case .stopped(let origin, let error):
            logger.warning(
                "an origin fails and is left alone until it recovers",
                metadata: ["origin": "\(origin)", "error": "\(error)"])
        case .recovered(let origin): logger.notice("an origin works again", metadata: ["origin": "\(origin)"])
        case .paused(let origin, let pause, let status):
            logger.warning(
                "an origin asks to be left alone",
                metadata: ["origin": "\(origin)", "status": "\(status)", "seconds": "\(pause.wholeSeconds)"])
        case .networkLost(let error): logger.warning("no origin can be reached", metadata: ["error": "\(error)"])
        case .networkBack: logger.notice("origins can be reached again")
        }
    }
}

extension LoopContext {
    /// Records the remaining quota in a service's response.
    ///
    /// - Parameter place: the URL that redirects have led to, if any: its quota is another's.
    func noteQuota(
        in response: ResponseHead, to request: UpstreamRequest, of service: RoutedService, at place: String?
    ) {
        guard service.base != nil, place == nil else { return }
        proxy.quotas.note(
            response, to: request.head, insists: request.bypassesBackoff,
            hasReserve: service.settings.quotaReserve != nil, of: service.name, now: now(), at: loop.time.monotonic())
    }
}

extension Proxy {
    /// The remaining quotas at the moment.
    package var quotaReport: [QuotaTable.Line] { quotas.all(at: time.monotonic()) }
}
