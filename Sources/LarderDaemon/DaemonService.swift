// SPDX-License-Identifier: Apache-2.0

@_exported public import Larder

/// An API that a program of your own serves: the equivalent of an entry under `services` in a configuration file, with
/// the options that only Swift can express.
///
/// A configuration file may have an entry with the service's name, whose options take precedence.
public protocol DaemonService: Sendable {
    /// Lower-case letters, digits and `-`: the service is reached as `/<name>/…` and as `<name>.localhost`.
    var name: String { get }
    /// The http or https URL that the service's resources are below.
    var baseURL: String { get }
    /// The path that leads to the service, with a slash at both ends; nil for `/<name>/`.
    var mount: String? { get }
    /// Configures how the service's resources are requested, transformed and stored: call `configure` and
    /// `configureTransformer` of `service`. Called at start and whenever the configuration is reloaded, but not by
    /// `invalidateConfiguration`: what has to outlast a reload (a `TokenRefresh`, say) is a property of your type.
    ///
    /// All other settings have the defaults of a configuration file instead of the defaults of `Configuration()`: the
    /// origin's directives and heuristics for freshness (`expirationMode` is `heuristic`), and a day of `staleIfError`.
    ///
    /// Clients get the output of the last stage: bytes, text, `JSONValue`, or a type of your own that is
    /// `WireEncodable`. There is no standard transformer unless you add it, as in `$0.pipeline.add(.json)`.
    ///
    /// Keep `service`: the daemon's clients are served from its resources, so loads, observers and changes of your
    /// program and of clients affect each other. To act on all resources later, use `wipeResources`,
    /// `invalidateResources`, `invalidateConfiguration` and `reloadAfterRecovery`. When this is called again, earlier
    /// values of `service` stay valid for the same service. Overrides, wipes, invalidations and requests may begin here
    /// without being awaited: at the start the daemon performs them once it is ready.
    func configure(_ service: Service)
}

extension DaemonService {
    public var mount: String? { nil }
}
