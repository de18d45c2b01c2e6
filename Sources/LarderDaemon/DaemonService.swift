// SPDX-License-Identifier: Apache-2.0

@_exported public import Larder

/// An API that a program of your own serves: what stands under `services` in a configuration file, and what only
/// Swift can say.
///
/// A configuration file may say more about the service under its name, and what it says wins.
public protocol DaemonService: Sendable {
    /// Lower-case letters, digits and `-`: the service is reached as `/<name>/…` and as `<name>.localhost`.
    var name: String { get }
    /// The http or https URL that the service's resources lie under.
    var baseURL: String { get }
    /// The path that leads to the service, with a slash at both ends; nil for `/<name>/`.
    var mount: String? { get }
    /// Says how the service's resources are asked for, transformed and kept: call `configure` and
    /// `configureTransformer` of `service`. Called at start and whenever the configuration is read again.
    ///
    /// What comes out of the last stage is what clients get: octets, text, `JSONValue`, or a type of your own that is
    /// `WireEncodable`. No standard transformer is there unless you add it, as in `$0.pipeline.add(.json)`.
    ///
    /// Keep `service` to say something about all of its resources later: `wipeResources`, `invalidateResources`,
    /// `invalidateConfiguration` and `reloadAfterRecovery` reach what the daemon serves. When this is called again, the
    /// service it was given before goes on to mean the same one.
    func configure(_ service: Service)
}

extension DaemonService {
    public var mount: String? { nil }
}
