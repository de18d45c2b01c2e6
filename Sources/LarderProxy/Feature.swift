// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
package import LarderIO
package import LarderSettings
package import Logging

/// A part of the daemon beside the core. Its stages have a part in requests; its life and what it hears of are here,
/// as they belong to no request.
package protocol Feature: AnyObject, Sendable {
    /// Its stage in the requests of a service; nil if the service does not use it.
    func stage(for settings: ServiceSettings, isUnclaimed: Bool) -> Stage?
    /// Adds its states of a loop, which begins. Called on the loop.
    func loopBegins(_ loop: EventLoop, _ states: inout StageStates, _ logger: Logger)
    /// All requests of the loop have ended. Called on the loop.
    func loopEnds(_ states: StageStates)
    /// The proxy serves. `loop` is one of its loops.
    func begin(on proxy: Proxy, _ loop: EventLoop) async
    /// The proxy's connections are closed; its loops still run.
    func end()
    /// This daemon is about to invalidate stored responses.
    func hear(_ invalidation: OwnInvalidation, at monotonicNow: Int64)
}

/// Stored responses that become invalid.
package enum OwnInvalidation {
    case url(TargetURI, RoutedService)
    case group(String, origin: String?)
    /// The resources of a service that patterns match; nil for all.
    case patterns([GlobPattern]?, RoutedService)
    case everything
}

extension Proxy {
    /// The feature of a type, if the daemon has it.
    package func feature<Wanted: Feature>(_ type: Wanted.Type) -> Wanted? {
        for feature in features { if let feature = feature as? Wanted { return feature } }
        return nil
    }

    func announce(_ invalidation: OwnInvalidation) {
        for feature in features { feature.hear(invalidation, at: monotonicNow) }
    }

    /// An operator changes many resources.
    package func announce(_ pattern: GlobPattern?, ofService name: String?) {
        if pattern == nil, name == nil { return announce(.everything) }
        for service in configuration.router.table.all where name == nil || service.name == name {
            announce(.patterns(pattern.map { [$0] }, service))
        }
    }

    package func announce(group: String, origin: String?) { announce(.group(group, origin: origin)) }
}
