// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings

/// The stream of events (model: 9.6).
extension AdminCall {
    /// `Last-Event-ID` is accepted and ignored: every stream begins with the state, not with history.
    func events() throws -> OwnResponse {
        let requests = try parameters.choice("requests", of: ["0", "1", "only"], default: "0")
        let hasContent = try parameters.flag("content", of: ["0", "1"])
        let wantsLoad = try parameters.flag("loadIfNeeded", of: ["0", "1"])
        guard !hasContent || request.isLoopback else { throw Problem.contentIsForThisMachine }
        var events: OwnEvents
        if parameters.text("url") != nil {
            for name in ["match", "service"] where parameters.text(name) != nil {
                throw Problem.badParameter("‘url’ and ‘\(name)’ exclude each other.", advice: "Give one of them.")
            }
            let subject = try proxy.subject(of: parameters.required("url"))
            var topic = EventSubject(
                EventSubject.Key(
                    .url(subject.url, service: subject.service.number), hasContent: hasContent, requests: requests),
                scope: .resource(subject),
                text: EventWording(about: .url(subject.url), in: proxy, walkers: walkers))
            let url = subject.uri.string
            if requests != "0" { topic.requests = { $0.url == url } }
            events = OwnEvents(topic)
            if wantsLoad {
                // The stream reports the outcome.
                events.whenSubscribed = { _ = try? await proxy.loadIfNeeded(subject, from: network) }
            }
        } else {
            guard !wantsLoad else {
                throw Problem.badParameter(
                    "‘loadIfNeeded’ loads one resource, and this stream is about many.", advice: "Name it with ‘url’.")
            }
            let filter = try filter()
            let (match, service) = (parameters.text("match"), parameters.text("service"))
            // A relative pattern means something else once they change.
            let bases = match == nil ? [:] : proxy.configuration.router.table.bases
            let isOnly = requests == "only"
            var topic = EventSubject(
                EventSubject.Key(
                    .pattern(match, service: service, bases: bases), hasContent: hasContent, requests: requests),
                scope: .matching { !isOnly && filter.accepts(ResourceURL($0.key.url), service: $0.service) },
                text: EventWording(
                    about: isOnly ? .requests(match) : .pattern(match, filter), in: proxy, walkers: walkers))
            topic.isSelective = match != nil
            if requests != "0" { topic.requests = { filter.accepts($0) } }
            events = OwnEvents(topic)
        }
        var response = OwnResponse(type: "text/event-stream", [])
        response.events = events
        return response
    }
}

extension Proxy {
    /// Loads a resource unless it is up to date, like a client without special requirements.
    fileprivate func loadIfNeeded(_ subject: ResourceSubject, from network: ClientNetwork) async throws -> LoadOutcome {
        let fields: Fields = ["Accept": "*/*", "User-Agent": "larder/\(LarderVersion.current)"]
        return try await load(subject, fields: fields, onlyIfNeeded: true, from: network)
    }
}
