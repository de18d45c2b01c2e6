// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import Testing

/// A service with a scripted origin and a clock moved by hand.
struct Fixture {
    let clock = ManualClock()
    let transport = StubTransport()
    let service: Service
    static let base = "https://api.example/v1/"

    init(
        standardTransformers: [StandardTransformer] = [.json, .text, .image], defaults: Configuration = Configuration(),
        log: ModelLog = ModelLog()
    ) {
        service = Service(
            "test", baseURL: Fixture.base, standardTransformers: standardTransformers, transport: transport,
            defaults: defaults, clock: clock, log: log)
    }

    /// The URL of a path of the service.
    static func url(_ path: String) -> String { base + path }

    /// Scripts replies to GET.
    func reply(_ path: String, _ replies: StubReply...) {
        var all = replies
        let last = all.removeLast()
        switch all.count {
        case 0: transport.reply(.get, Fixture.url(path), last)
        case 1: transport.reply(.get, Fixture.url(path), all[0], last)
        default: transport.reply(.get, Fixture.url(path), all[0], all[1], last)
        }
    }

    /// A resource that is observed, and who observes it.
    func observed(_ path: String) -> (Resource, EventRecorder) {
        let resource = service.resource(path)
        let recorder = EventRecorder()
        resource.addObserver(recorder, owner: recorder)
        return (resource, recorder)
    }
}

extension Entity where Content == any Sendable {
    /// An entity of text, made up locally.
    static func text(_ text: String, _ fields: Fields = Fields(), seconds: Int64 = 1_000) -> AnyEntity {
        var entity = Entity(content: text as any Sendable, fields: fields, timestamp: Timestamp(seconds: seconds))
        if !fields.contains(.contentType) { entity.fields[.contentType] = "text/plain" }
        return entity
    }
}

/// The network is down.
struct Disconnected: Error {}
