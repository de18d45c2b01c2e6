// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// For loads that stream: they have no request of the library, and drive the same state machine. Each transition
/// has its events delivered, or queued behind those being delivered, before it returns.
extension Resource {
    /// A load begins; observers are told `requested`.
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

    /// A load ends. The action says what the outcome means for stored responses; nil when it changed nothing,
    /// because the resource was wiped or something younger has come in meanwhile. What the stages of the pipeline
    /// made on the way is kept in their caches if it counts.
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

    /// Changes with each wipe: what began under another number has no place any more.
    package var epoch: UInt64 { status.read { $0.machine.epoch } }

    /// Whether a wipe or a younger load has made a load's outcome meaningless.
    package func isRunning(_ load: LoadID) -> Bool { status.read { $0.machine.loads.contains(load) } }

    /// Does what the configuration says is to happen after a request that may have changed the resource succeeded
    /// (RFC 9111 §4.4). `response` is what it brought, for actions that take it over.
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
