// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO

/// The outcome of a load for a program that looks at its Resource. There is none where no program does.
package final class ProgramLoad: Sendable {
    /// A 304, and the validators it confirmed.
    package struct Confirmation: Sendable {
        let response: ResponseHead
        let requestTime: Timestamp
        let responseTime: Timestamp
        let stored: Fields

        package init(_ response: ResponseHead, of stored: Fields, requestTime: Timestamp, responseTime: Timestamp) {
            self.response = response
            self.stored = stored
            self.requestTime = requestTime
            self.responseTime = responseTime
        }

        /// The entity after it; nil when it was about another one.
        package func freshened(_ entity: AnyEntity) -> AnyEntity? {
            let isSame = [FieldName.eTag, .lastModified].allSatisfy { entity.fields[$0] == stored[$0] }
            guard isSame, !entity.isLocalOverride else { return nil }
            return entity.freshened(by: response, requestTime: requestTime, at: responseTime)
        }
    }

    private struct State {
        var id: LoadID?
        var isOwn = false
        var isForClientAlone = false
        var outcome: Response?
        var confirmation: Confirmation?
        var decorated: Request?
        var work: DecoratorsWork?
    }

    private let state = Lock(State())

    init() {}

    /// The load in the state that programs see.
    package var id: LoadID? {
        get { state.withLock { $0.id } }
        set { state.withLock { $0.id = newValue } }
    }

    /// The load's name, once: it ends.
    func takeID() -> LoadID? { state.withLock { $0.id.take() } }

    /// True if the program itself began the load, and wants the response no matter which client it is for.
    package var isOwn: Bool {
        get { state.withLock { $0.isOwn } }
        set { state.withLock { $0.isOwn = newValue } }
    }

    /// True if the response is for the client that asked for it, and changes no state.
    package var isForClientAlone: Bool {
        get { state.withLock { $0.isForClientAlone } }
        set { state.withLock { $0.isForClientAlone = newValue } }
    }

    /// The pipeline's result.
    package var outcome: Response? {
        get { state.withLock { $0.outcome } }
        set { state.withLock { $0.outcome = newValue } }
    }

    /// The request that the program's decorators made from this load's request, which waits for it.
    package var decorated: Request? {
        get { state.withLock { $0.decorated } }
        set { state.withLock { $0.decorated = newValue } }
    }

    /// The work of decorators that began the load, if they did.
    package var work: DecoratorsWork? {
        get { state.withLock { $0.work } }
        set { state.withLock { $0.work = newValue } }
    }

    package var confirmation: Confirmation? {
        get { state.withLock { $0.confirmation } }
        set { state.withLock { $0.confirmation = newValue } }
    }
}
