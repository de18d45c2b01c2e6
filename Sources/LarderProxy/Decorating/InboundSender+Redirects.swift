// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderUpstream

/// Redirects that are followed for clients, so that the final response is stored for the requested URL.
extension InboundSender {
    /// How many redirects are followed for one request.
    static let redirectLimit = 5

    /// The limits for the `X-` fields that redirects may add to a response: bytes, including names, and lines.
    fileprivate static let addedLimit = (octets: 8 << 10, lines: 64)

    /// The final response of the redirects that start with `response`; `response` itself if it is no redirect, or
    /// cannot be followed. The caching fields of the result reflect the whole chain.
    func follow(
        _ response: UpstreamResponse, of request: UpstreamRequest, for client: Asking
    ) async throws -> UpstreamResponse {
        guard request.head.method == .get || request.head.method == .head else { return response }
        if request.head.fields.contains(.ifMatch) || request.head.fields.contains(.ifUnmodifiedSince) {
            // The conditions apply to the requested URL; other clients get the response of the redirect's target.
            if InboundSender.target(of: response.head, at: uri) != nil { redirectsAreKept = false }
            return response
        }
        let (first, standing) = (response, response.peerAddress)
        var (response, request, place, credit) = (response, request, uri, Credit.own(currentConfiguration))
        var followed = FollowedRedirects(of: client.head, to: uri, policy: client.policy)
        var added = AddedFields()
        var targetsAreKept = true
        for _ in 0..<InboundSender.redirectLimit {
            guard let target = InboundSender.target(of: response.head, at: place),
                mayFollow(to: target, method: request.head.method)
            else { break }
            guard try await response.readAhead(upTo: InboundSender.discardLimit) else { break }
            if request.abort.isAborted { throw ClientGone() }
            HopByHop.strip(&response.head.fields, for: .forwardResponse)
            followed.append(response.head, at: context.now())
            added.append(response.head.fields, client.policy)
            targetsAreKept = targetsAreKept && mayKeep(target)
            request = redirected(request, to: target, &credit, from: standing)
            if let stored = client.stored {
                Validation.makeConditional(&request.head.fields, for: stored, at: target.string)
            }
            place = target
            response = try await context.send(request)
            redirects += 1
        }
        // A signature for GET is not always valid for HEAD. Then the client gets the origin's own answer.
        if request.head.method == .head, response.head.status.isError {
            redirects = 0
            return first
        }
        if redirects > 0 {
            self.place = place.string
            (response.head.fields, redirectsAreKept) = followed.fields(
                of: response.head, validating: client.stored?.fields, at: context.now())
            redirectsAreKept = redirectsAreKept && targetsAreKept
        }
        added.fields.forEachLine { _, spelling, value in
            let name = FieldName(token: spelling)
            if !response.head.fields.contains(name) { response.head.fields.append(name, bytes: value) }
        }
        // A redirect that is not followed is relative to the URL it came from.
        if redirects > 0, let target = InboundSender.target(of: response.head, at: place) {
            response.head.fields[.location] = target.string
        }
        return response
    }

    /// The target of a redirect that may be followed.
    private static func target(of head: ResponseHead, at place: TargetURI) -> TargetURI? {
        if case .to(let target) = Redirect(head, at: place) { target } else { nil }
    }

    /// The credentials that a request carries.
    private enum Credit {
        /// The credentials of the client and of this configuration.
        case own(EffectiveConfiguration)
        /// No credentials, once a redirect has led out of the service: the server there chooses the next target.
        case none
    }

    /// The services whose blocks apply to a URL. The blocks of this service also apply to its other hosts.
    private func claimants(of target: TargetURI) -> [RoutedService] {
        let isListed = service.base != nil && service.allows(target)
        return [context.configuration.router.table.claiming(target), isListed ? service : nil].compactMap(\.self)
    }

    /// False for a URL whose own block has another answer or does without the origin, and for a URL that an origin may
    /// interpret as a URL in another part of the service.
    private func mayFollow(to target: TargetURI, method: LarderHTTP.Method) -> Bool {
        for claimant in claimants(of: target) {
            let configuration = claimant.configuration(for: target, method: method)
            let answer = context.configuration.router.table.hardWiredAnswer(
                to: target, method: method, of: claimant, configuration)
            if answer != nil || context.proxy.offlineMode(claimant, configuration) == .on { return false }
        }
        return !(target.hidesDotSegments && service.base.map(target.hasSameOrigin(as:)) == true)
    }

    /// True if the blocks of a redirect's target allow its response to be stored for the same clients.
    private func mayKeep(_ target: TargetURI) -> Bool {
        claimants(of: target).allSatisfy { claimant in
            claimant.configuration(for: target, method: .get).caches
                && (claimant !== service || claimant.privacy(for: target) == claimant.privacy(for: uri))
        }
    }

    /// True if a URL is the service's, so that its credentials may go there. Without a base URL, the origin decides.
    private func isOwn(_ target: TargetURI) -> Bool {
        guard service.base != nil else { return target.hasSameOrigin(as: uri) }
        return context.configuration.router.table.claiming(target)?.number == service.number && service.covers(target)
    }

    /// The request to the target of a redirect, with the fields that the target's own block sets, and without conditions.
    ///
    /// - Parameter standing: the address of the origin whose redirect was the first.
    private func redirected(
        _ request: UpstreamRequest, to target: TargetURI, _ credit: inout Credit, from standing: SocketAddress?
    ) -> UpstreamRequest {
        var head = request.head
        head.target = target.withBytes(of: target.pathAndQueryRange) { Array($0) }
        head.fields.removeConditionsForRedirect()
        if !target.hasSameOrigin(as: uri) { PageFields.removeAll(from: &head.fields) }
        if case .own(let configuration) = credit {
            configuration.removeConfigured(from: &head.fields)
            if isOwn(target) {
                let next = currentService.configuration(for: target, method: head.method)
                next.apply(to: &head.fields)
                credit = .own(next)
            } else {
                for name in Credentials.all(in: head.fields) { head.fields.remove(name) }
                credit = .none
            }
        }
        head.fields[.host] = target.authority
        var next = UpstreamRequest(
            origin: Origin(target), head: head, parent: service.parent(target),
            allowsAddress: allowedAddresses(for: target, from: standing), abort: request.abort)
        next.belongsToService = request.belongsToService && target.hasSameOrigin(as: uri)
        next.bypassesBackoff = request.bypassesBackoff
        next.client = request.client
        next.tls = service.tls(for: target)
        next.onInterim = request.onInterim
        return next
    }

    /// Another origin may be as far inside as the first origin, but no further, unless a service applies to it.
    private func allowedAddresses(
        for target: TargetURI, from standing: SocketAddress?
    ) -> (SocketAddress) -> Bool {
        let allows = service.allowedAddresses(for: target, from: reach(of: target))
        guard let standing, !target.hasSameOrigin(as: uri), claimants(of: target).isEmpty else { return allows }
        return { allows($0) && standing.mayLead(to: $0) }
    }

    /// The network that clients must be in for the origin to be asked. A service shared with the network also shares a
    /// redirect's target: an origin must not make clients here fetch internal content for clients outside.
    private func reach(of target: TargetURI) -> ClientNetwork {
        let isShared = service.pinsOrigin && !context.configuration.settings.access.allow.isEmpty
        return isShared && service.base.map(target.hasSameOrigin(as:)) != true ? .network : network
    }
}

/// The `X-` fields of redirects that the final response gets.
private struct AddedFields {
    private(set) var fields = Fields()
    private var octets = 0
    private var lines = 0

    /// Adds the `X-` fields of a redirect within the limits, except fields that the redirect keeps from caches.
    mutating func append(_ redirect: Fields, _ policy: CachePolicy) {
        let directives = CacheControl.Response(redirect, targets: policy.targets)
        redirect.forEachLine { _, spelling, value in
            guard spelling.count > 2, spelling[0] | 0x20 == UInt8(ascii: "x"), spelling[1] == UInt8(ascii: "-"),
                lines < InboundSender.addedLimit.lines,
                octets + spelling.count + value.count <= InboundSender.addedLimit.octets
            else { return }
            let name = FieldName(token: spelling)
            guard !fields.contains(name), !directives.privateFields.contains(name),
                !directives.noCacheFields.contains(name)
            else { return }
            fields.append(name, bytes: value)
            octets += spelling.count + value.count
            lines += 1
        }
    }
}
