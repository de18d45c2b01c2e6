// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// For loads that stream: they have no request of the library, and drive the same state machine. The events of each
/// transition are delivered, or queued behind those being delivered, before it returns.
extension Resource {
    /// Begins a load; observers receive `requested`.
    package func beginLoad() -> LoadID {
        var load: LoadID?
        perform { status in
            let (id, transition) = status.machine.loadStarted()
            load = id
            return transition
        }
        // Unreachable: `perform` calls its body once, before it returns.
        guard let load else { preconditionFailure("a transition is always made") }
        return load
    }

    /// Ends a load. The action says how the outcome affects stored responses; nil when it changed nothing, because the
    /// resource was wiped or has newer data meanwhile. Outputs of pipeline stages are stored in their caches if the
    /// outcome counts.
    @discardableResult
    package func finish(
        load: LoadID, _ outcome: ResourceMachine.LoadOutcome, storing transformed: TransformedResponse? = nil
    ) -> ResourceMachine.Action? {
        perform { status in
            let transition = status.machine.loadFinished(load, outcome)
            if transition.action == .store, let transformed { store(transformed.outputs) }
            return transition
        }
    }

    /// The version of the data, for the `notModified` outcome of a load that is conditional on it.
    package var dataVersion: UInt64 { status.read { $0.machine.dataVersion } }

    /// Changes with each wipe: results of operations that began before a wipe are discarded.
    package var epoch: UInt64 { status.read { $0.machine.epoch } }

    /// Whether a load's outcome still counts: no wipe or newer load has superseded it.
    package func isRunning(_ load: LoadID) -> Bool { status.read { $0.machine.loads.contains(load) } }

    /// Performs the configured action after a successful request that may have changed the resource (RFC 9111 §4.4).
    /// `response` is its result, for actions that store it.
    package func applyAfterWrite(
        _ afterWrite: Configuration.AfterWrite, sent: AnyEntity? = nil, response: AnyEntity? = nil
    ) {
        switch afterWrite.action {
        case .none: break
        case .invalidate: invalidate()
        case .reload:
            invalidate()
            load()
        case .override: if let sent { overrideLocalData(with: sent) } else { invalidate() }
        case .promote:
            if let response {
                load(using: hardWiredRequest(returning: ResponseInfo(.success(response))))
            } else {
                invalidate()
            }
        case .wipe: wipe(.memoryAndCaches)
        }
        for pattern in afterWrite.also { service.invalidateResources(matching: pattern) }
    }
}
