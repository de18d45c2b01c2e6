// SPDX-License-Identifier: Apache-2.0

/// Names one load of one resource. Later loads have greater names.
package struct LoadID: Hashable, Sendable, Comparable {
    package let rawValue: UInt64
    package static func < (a: LoadID, b: LoadID) -> Bool { a.rawValue < b.rawValue }
}

/// The state of a resource and all its transitions, as pure functions: each handles an event and returns the
/// notifications and actions. The caller holds the resource's lock; nothing here waits, reads a clock or calls out.
package struct ResourceMachine: Sendable {
    /// How a load ended.
    package enum LoadOutcome: Sendable {
        /// - `isLanded`: whether clients are served it already, so that it is known to be the latest.
        case data(AnyEntity, isLanded: Bool = false)
        /// The origin confirmed the data of that version; the entity has the fields and times of the confirmation.
        case notModified(AnyEntity, version: UInt64)
        /// Something else than the origin's own response confirmed the data at that time, whichever that is.
        case confirmed(at: Timestamp)
        /// A cached entity was fresh: the origin was not asked.
        case confirmedByCache
        /// The response to a later request came first.
        case superseded
        case error(RequestError)
        case cancelled
    }

    /// The action required after a transition, once the lock is released.
    package enum Action: Sendable, Equatable {
        /// The load's content became the state: what its pipeline produced may be stored.
        case store
        /// The data was confirmed: the stored entity gets its new times and fields.
        case touchStored
        /// The data did not come from the origin: the stored entity is no longer the resource's state.
        case removeStored
    }

    package struct Transition: Sendable {
        package var events: [ResourceEvent] = []
        package var action: Action?
    }

    package enum CacheCheck: Sendable, Equatable {
        case notStarted
        case running(UInt64)
        case done
    }

    package private(set) var latestData: AnyEntity?
    package private(set) var latestError: RequestError?
    /// Changes whenever other content takes the place of `latestData`.
    package private(set) var dataVersion: UInt64 = 0
    private var courses: [Course] = []
    package private(set) var cacheCheck: CacheCheck = .notStarted
    package private(set) var isInvalidated = false
    private var lastLoad: UInt64 = 0
    private var lastTurn: UInt64 = 0
    /// The turn of the newest load whose content was taken.
    private var newestSuccess: UInt64?
    /// Loads up to this turn began before the resource was invalidated.
    private var invalidatedAfter: UInt64?
    private var lastCheck: UInt64 = 0

    package init() {}

    /// A load in progress, and when it turned to the origin: loads are requested by their order, but may wait for
    /// caches and threads before they ask.
    private struct Course {
        let load: LoadID
        var turn: UInt64
    }

    /// The loads in progress, in the order they began.
    package var loads: [LoadID] { courses.map(\.load) }
    package var isLoading: Bool { !courses.isEmpty }
    package func isUnderWay(_ load: LoadID) -> Bool { courses.contains { $0.load == load } }

    /// True if `load` began before the resource was last invalidated, so that it cannot make up for it.
    package func isOutdated(_ load: LoadID) -> Bool {
        courses.first { $0.load == load }.map(isOutdated) ?? false
    }

    private func isOutdated(_ course: Course) -> Bool {
        guard isInvalidated, let invalidatedAfter else { return false }
        return course.turn <= invalidatedAfter
    }

    // MARK: Loads

    /// A load begins. Silent ones are announced when they turn to the network.
    package mutating func loadStarted(isSilent: Bool = false) -> (LoadID, Transition) {
        lastLoad += 1
        lastTurn += 1
        let load = LoadID(rawValue: lastLoad)
        courses.append(Course(load: load, turn: lastTurn))
        return (load, Transition(events: isSilent ? [] : [.requested]))
    }

    /// A silent load turns to the network.
    package func loadAnnounced(_ load: LoadID) -> Transition {
        Transition(events: courses.contains { $0.load == load } ? [.requested] : [])
    }

    /// A load that waited asks the origin now: it is later than those that have asked before.
    package mutating func loadAsks(_ load: LoadID) {
        guard let index = courses.firstIndex(where: { $0.load == load }) else { return }
        lastTurn += 1
        courses[index].turn = lastTurn
    }

    /// A load ends. A load that is not in progress any more, because the resource was wiped, changes nothing.
    package mutating func loadFinished(_ load: LoadID, _ outcome: LoadOutcome) -> Transition {
        guard let index = courses.firstIndex(where: { $0.load == load }) else { return Transition() }
        let course = courses.remove(at: index)
        let isOutdated = isOutdated(course)
        // An older load that finishes late must not undo the result of a younger one.
        let isLate = newestSuccess.map { course.turn < $0 } ?? false
        switch outcome {
        case .data(let entity, let isLanded):
            if isLate, !isLanded { return Transition(events: [.notModified]) }
            newestSuccess = max(newestSuccess ?? 0, course.turn)
            replaceData(with: entity)
            settle(clearingInvalidation: !isOutdated)
            return Transition(events: [.newData(.network)], action: .store)
        case .notModified(let entity, let version):
            guard version == dataVersion, latestData != nil else { return Transition(events: [.notModified]) }
            latestData = entity
            newestSuccess = max(newestSuccess ?? 0, course.turn)
            settle(clearingInvalidation: !isOutdated)
            return Transition(events: [.notModified], action: .touchStored)
        case .confirmed(let time):
            if isLate { return Transition(events: [.notModified]) }
            latestData?.timestamp = time
            newestSuccess = max(newestSuccess ?? 0, course.turn)
            if latestData != nil { settle(clearingInvalidation: !isOutdated) }
            return Transition(events: [.notModified])
        case .confirmedByCache, .superseded:
            return Transition(events: [.notModified])
        case .error(let error):
            if isLate { return Transition(events: [.notModified]) }
            latestError = error
            if !isOutdated { isInvalidated = false }
            return Transition(events: [.error])
        case .cancelled:
            return Transition(events: [.requestCancelled])
        }
    }

    // MARK: Changes from within

    /// The data was overridden with other content.
    package mutating func overridden(with entity: AnyEntity) -> Transition {
        var entity = entity
        entity.isLocalOverride = true
        replaceData(with: entity)
        settle(clearingInvalidation: true)
        // Loads under way were started earlier, and are not about the new data; but their responses are the origin's
        // and will be used.
        return Transition(events: [.newData(.localOverride)], action: .removeStored)
    }

    /// The data is declared out of date.
    package mutating func invalidated() {
        isInvalidated = true
        invalidatedAfter = lastTurn
    }

    /// Everything is forgotten; all loads are cancelled.
    package mutating func wiped() -> Transition {
        let cancelled = courses.count
        courses = []
        latestData = nil
        latestError = nil
        isInvalidated = false
        newestSuccess = nil
        dataVersion += 1
        cacheCheck = .notStarted
        return Transition(
            events: [.newData(.wipe)] + Array(repeating: .requestCancelled, count: cancelled))
    }

    // MARK: The cache check

    /// The caches are to be read, if they have not been; the name of the check if so. If there is data already, nothing
    /// in the caches would be used.
    package mutating func cacheCheckStarted(hasCaches: Bool) -> UInt64? {
        guard cacheCheck == .notStarted else { return nil }
        guard hasCaches, latestData == nil else {
            cacheCheck = .done
            return nil
        }
        lastCheck += 1
        cacheCheck = .running(lastCheck)
        return lastCheck
    }

    /// The caches were read. Their entity is used only if nothing newer has arrived meanwhile; errors and invalidations
    /// are newer and stay. True in the second part when it was used.
    package mutating func cacheCheckFinished(_ check: UInt64, _ entity: AnyEntity?) -> (Transition, isTaken: Bool) {
        guard cacheCheck == .running(check) else { return (Transition(), false) }
        cacheCheck = .done
        guard let entity, latestData == nil else { return (Transition(), false) }
        replaceData(with: entity)
        return (Transition(events: [.newData(.cache)]), true)
    }

    // MARK: Private parts

    private mutating func replaceData(with entity: AnyEntity) {
        latestData = entity
        dataVersion += 1
    }

    private mutating func settle(clearingInvalidation: Bool) {
        latestError = nil
        if clearingInvalidation { isInvalidated = false }
    }
}
