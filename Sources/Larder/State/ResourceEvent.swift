// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP

/// An event of a resource.
public enum ResourceEvent: Sendable, Hashable, CustomStringConvertible {
    /// The source of new data.
    public enum DataSource: String, Sendable, Hashable {
        /// A load that succeeded.
        case network
        /// A cache of one of the stages.
        case cache
        /// `overrideLocalData` or `overrideLocalContent`.
        case localOverride
        /// None: the data was wiped.
        case wipe
    }

    /// An observer was added; delivered to this observer only.
    case observerAdded
    /// A load has begun.
    case requested
    /// A load was cancelled.
    case requestCancelled
    /// `latestData` has changed.
    case newData(DataSource)
    /// `latestData` was confirmed.
    case notModified
    /// A load has failed; `latestError` has changed.
    case error

    /// The event's name, as it is written everywhere.
    public var name: String {
        switch self {
        case .observerAdded: "observerAdded"
        case .requested: "requested"
        case .requestCancelled: "requestCancelled"
        case .newData: "newData"
        case .notModified: "notModified"
        case .error: "error"
        }
    }

    public var description: String {
        if case .newData(let source) = self { "\(name)(\(source.rawValue))" } else { name }
    }
}

/// The state of a resource at one moment, as one consistent snapshot.
public struct ResourceState: Sendable {
    /// The resource's URL.
    public let url: ResourceURL
    /// The number of the last event among those of the resource, for clients of a daemon and for programs; it only
    /// grows.
    public let sequence: UInt64
    /// `Resource.latestData` at that moment.
    public let latestData: AnyEntity?
    /// `Resource.latestError` at that moment.
    public let latestError: RequestError?
    /// True if a load is in progress.
    public let isLoading: Bool

    /// The later of the times of data and error, or nil when there is neither.
    public var timestamp: Timestamp? {
        [latestData?.timestamp, latestError?.timestamp].compactMap(\.self).max()
    }
}

extension ResourceState: TypedContentAccessors {
    public var entityForTypedContent: AnyEntity? { latestData }
}

/// An event and the state right after it.
public struct ResourceUpdate: Sendable {
    /// The event.
    public let event: ResourceEvent
    /// The resource's state right after it.
    public let state: ResourceState
}
