// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP
package import LarderRules

/// How the resources it applies to are asked for, transformed, kept and answered.
///
/// Configurations are made by running the entries of a service in their order, each changing what the ones before
/// left. They are computed once for each resource and method, and again after anything was added or
/// `invalidateConfiguration()` was called.
public struct Configuration: Sendable {
    /// How `expirationTime` and the origin's own words about freshness go together.
    public enum ExpirationMode: String, Sendable, Hashable {
        /// The origin's word counts; `expirationTime` where it says nothing.
        case fallback
        /// The origin's lifetime counts, and the heuristics of RFC 9111 §4.2.2 where there is none; `expirationTime` is
        /// ignored.
        case heuristic
        /// The shorter of the two.
        case cap
        /// The longer of the two.
        case floor
        /// `expirationTime` alone.
        case override
    }

    /// The content that clients of the daemon get.
    public enum Serving: Sendable, Hashable {
        /// The origin's bytes, without the pipeline's changes.
        case raw
        /// The output of a stage.
        case stage(PipelineStageKey)
        /// The output of the last one.
        case final
    }

    /// The caches that may store responses.
    public enum Caching: String, Sendable, Hashable {
        /// In memory, and in the caches of the stages.
        case perStage
        /// Nowhere.
        case none
    }

    /// How fast a stored event stream is sent.
    package enum StreamReplay: String, Sendable, CaseIterable {
        case immediate
        /// At the pace at which the origin sent it.
        case paced
    }

    /// The effect on a resource when a request that may have changed it succeeds (RFC 9111 §4.4).
    ///
    /// In a daemon, clients' writes have this effect as well. For clients' writes, `override` uses the content of a PUT
    /// only, data from `override` and `promote` is up to date for as long as the configuration or the response says,
    /// and `wipe` leaves a program its data, as out of date.
    public struct AfterWrite: Sendable, Hashable {
        /// The effect on the resource itself.
        public enum Action: String, Sendable, Hashable {
            /// Nothing.
            case none
            /// Its data is declared out of date.
            case invalidate
            /// It is loaded again at once.
            case reload
            /// The request's content becomes its data.
            case override
            /// The response's content becomes its data.
            case promote
            /// Its state is removed, in caches too.
            case wipe
        }

        /// The effect on the resource itself.
        public var action: Action
        /// Patterns of other resources of the service to invalidate.
        public var also: [GlobPattern]

        /// Sets the effect.
        public init(_ action: Action = .invalidate, also: [GlobPattern] = []) {
            self.action = action
            self.also = also
        }
    }

    /// The clients that may share a response.
    public enum Privacy: String, Sendable, Hashable {
        /// Anyone, within the rules for shared caches.
        case shared
        /// Clients with the same identity.
        case partitioned
        /// There is one user, who may see everything.
        case `private`
    }

    /// The fate of a load when no client waits for it any longer.
    public enum OnAbandon: Sendable, Hashable {
        /// The load is cancelled unless a client joins it within this time.
        case cancel(after: Duration)
        /// The load continues to its end.
        case finish

        /// The time after which the load is cancelled; nil for never.
        package var delay: Duration? {
            if case .cancel(let delay) = self { delay } else { nil }
        }
    }

    /// How long data stays up to date. Only the value for GET counts. Where heuristics hold, setting it makes it count
    /// wherever the origin says nothing (`expirationMode` becomes `fallback`).
    public var expirationTime: Duration = .seconds(30) {
        didSet { if expirationMode == .heuristic { expirationMode = .fallback } }
    }
    /// How `expirationTime` and the origin's own words go together.
    public var expirationMode: ExpirationMode = .override
    /// How long after an error the resource counts as up to date, so that it is not asked for at once again. Only
    /// the value for GET counts.
    public var retryTime: Duration = .seconds(1)
    /// How long stale data may be answered with while new data is fetched, where the origin does not say.
    public var staleWhileRevalidate: Duration = .zero
    /// How long stale data may be answered with after an error, where the origin does not say.
    public var staleIfError: Duration = .zero
    /// Fields set on each request, or taken off it.
    public var fields = ConfiguredFields()
    /// The functions that edit requests, in order.
    public private(set) var mutators: [RequestMutation] = []
    /// The functions that see requests before they start, in order.
    public private(set) var decorators: [RequestDecorator] = []
    /// Turns responses into content. The pipeline at the time of a request is used.
    public var pipeline = Pipeline()
    /// How long transformers may take over one response, all together, with the time that it waits for a thread.
    public var transformTimeout: Duration = .seconds(30)
    /// How many bytes a transformer may make of a response. Content that is neither bytes nor text is not measured.
    public var transformedSizeLimit = 256 << 20
    /// How often the progress of a request is reported, at most.
    public var progressReportingInterval: Duration = .milliseconds(50)
    /// The content that clients of the daemon get.
    public var serving: Serving = .final
    /// The caches that may store responses.
    public var caching: Caching = .perStage
    /// The effect when a request that may have changed the resource succeeds. Unless this is set, a daemon declares the
    /// resource out of date after the writes of its clients, and `Resource.request` changes nothing.
    public var afterWrite: AfterWrite {
        get { writtenAfterWrite ?? AfterWrite() }
        set { writtenAfterWrite = newValue }
    }
    /// `afterWrite` where it was set.
    private(set) var writtenAfterWrite: AfterWrite?
    /// The clients that may share a response.
    public var privacy: Privacy = .shared
    /// Never ask the origin: requests fail, data that is here stays as it is.
    public var isOffline = false
    /// True if the daemon does not ask the origin for as long as it is out of reach.
    package var isOfflineWhenUnreachable = false
    /// True if the daemon makes the content of POST and QUERY part of the key.
    package var keyedByContent = false
    /// The methods that blocks of the daemon's configuration have a pipeline for by name.
    package var transformedMethods: Set<Method> = []
    /// The longest content of a request, in bytes, that the daemon makes part of the key.
    package var keyedContentLimit = 1 << 20
    /// How many superseded entities the daemon's store keeps of each variant.
    package var history = 0
    /// True if the daemon reloads watched resources in error when their origin recovers (B-28).
    package var reloadOnRecovery = false
    /// The codings that the daemon gives stored content in, beside the one it came in, the preferred one first.
    package var codings: [ServedCoding] = []
    /// The lifetimes of responses with these statuses, in the daemon.
    package var expirationTimes: [Status: Duration] = [:]
    /// Request directives that the daemon ignores.
    package var ignoreRequest: IgnoredRequest = []
    /// Response directives and fields that the daemon ignores.
    package var ignoreResponse = IgnoredResponse()
    /// True if the origin's responses are the same for all clients of the daemon.
    package var everyone = false
    /// True if the daemon maps links in content to itself, for clients of its gateway.
    package var links = false
    /// True if the daemon follows redirects of origins in place of its clients.
    package var followRedirects = false
    /// Members of JSON content that are not part of the key, where content is.
    package var ignoreContent: [String] = []
    /// Texts at the end of a complete event stream; without any, each end is complete.
    package var streamEnd: [String] = []
    /// How fast the daemon sends a stored event stream.
    package var replay = StreamReplay.immediate
    /// The daemon's action when the content of a resource changes.
    package var changeRule: ChangeRule?
    /// Which stored responses the daemon validates before anyone asks for them.
    package var refreshAhead = RefreshAhead.off
    /// The fate of a daemon's load when no client waits for it any longer.
    public var onAbandon: OnAbandon = .cancel(after: .milliseconds(50))

    /// A value added by the layer that serves resources; the model does not use it.
    package var attachment: (any Sendable)?

    /// Makes the default configuration.
    public init() {}

    /// Keeps responses up to date for at least `time`, also where the origin names a shorter lifetime: `keepFor` of a
    /// daemon's configuration file.
    public mutating func keep(for time: Duration) {
        expirationTime = time
        expirationMode = .floor
    }

    /// Adds a function that edits each request before it is made, after `fields` and the caller's own changes. It must
    /// not block: a daemon calls it on an event loop.
    public mutating func mutateRequests(_ mutation: @escaping RequestMutation) { mutators.append(mutation) }

    /// Adds a function that sees each request before it starts, and may give back another one in its place.
    public mutating func decorateRequests(_ decorator: @escaping RequestDecorator) { decorators.append(decorator) }
}

/// A change to a request that is about to be made.
public typealias RequestMutation = @Sendable (inout OutgoingRequest) -> Void

/// Receives a request that was made and not started; the returned request replaces it.
public typealias RequestDecorator = @Sendable (Resource, Request) -> Request

/// Fields that configuration puts on requests. Setting one to nil takes it off: what earlier configuration set, and
/// what the request came with.
public struct ConfiguredFields: Sendable, Equatable {
    /// The fields to set, in order.
    public private(set) var set = Fields()
    /// The fields to remove.
    public private(set) var removed: Set<FieldName> = []

    /// Makes a set that changes nothing.
    public init() {}

    /// The value to set; nil to remove the field.
    public subscript(name: FieldName) -> String? {
        get { set[name] }
        set(value) {
            set[name] = value
            if value == nil { removed.insert(name) } else { removed.remove(name) }
        }
    }

    /// Changes the fields of a request.
    public func apply(to fields: inout Fields) {
        for name in removed { fields.remove(name) }
        // None is in there twice.
        set.forEachLine { _, spelling, value in
            let name = FieldName(token: spelling)
            fields.remove(name)
            fields.append(name, bytes: value)
        }
    }
}
