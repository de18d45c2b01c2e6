// SPDX-License-Identifier: Apache-2.0
public import Logging
import Synchronization

/// The topics of the model's log.
public struct LogCategories: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Requests and their outcomes.
    public static let network = LogCategories(rawValue: 1)
    /// Fields and sizes of requests and responses; fields that can hold secrets are redacted.
    public static let networkDetails = LogCategories(rawValue: 2)
    /// The effects of pipelines on responses.
    public static let pipeline = LogCategories(rawValue: 4)
    /// Events of resources.
    public static let stateChanges = LogCategories(rawValue: 8)
    /// Observers that are added and removed.
    public static let observers = LogCategories(rawValue: 16)
    /// Why data was or was not requested again.
    public static let staleness = LogCategories(rawValue: 32)
    /// Operations of entity caches and their results.
    public static let cache = LogCategories(rawValue: 64)
    /// Which configuration applies to what.
    public static let configuration = LogCategories(rawValue: 128)

    /// The usual selection.
    public static let common: LogCategories = [.network, .stateChanges, .staleness]
    /// Everything but the details of requests.
    public static let detailed: LogCategories = all.subtracting(.networkDetails)
    /// Every category.
    public static let all = LogCategories(rawValue: 255)

    /// The names of the categories in this set.
    public var names: [String] {
        LogCategories.named.filter { contains($0.category) }.map(\.name)
    }

    /// The category with that name, or nil.
    public init?(name: String) {
        guard let found = LogCategories.named.first(where: { $0.name == name }) else { return nil }
        self = found.category
    }

    private static let named: [(name: String, category: LogCategories)] = [
        ("network", .network), ("networkDetails", .networkDetails), ("pipeline", .pipeline),
        ("stateChanges", .stateChanges),
        ("observers", .observers), ("staleness", .staleness), ("cache", .cache), ("configuration", .configuration),
    ]
}

/// The log of one service: the written categories can change at any time, the destination is fixed.
public final class ModelLog: Sendable {
    /// Receives one line and its category.
    public typealias Handler = @Sendable (_ category: LogCategories, _ message: String) -> Void

    private let mask: Atomic<UInt16>
    private let handler: Handler
    private let problemHandler: @Sendable (String) -> Void

    /// Makes a log that passes its lines to `handler`. Mistakes of the program, such as an invalid base URL, have the
    /// category `configuration` whether or not that is written.
    public init(categories: LogCategories = [], handler: @escaping Handler) {
        mask = Atomic(categories.rawValue)
        self.handler = handler
        problemHandler = { handler(.configuration, $0) }
    }

    /// Makes a log that writes to `logger` at debug level, the category in its metadata; mistakes of the program are
    /// warnings, whatever the categories.
    public init(categories: LogCategories = [], logger: Logger = Logger(label: "larder")) {
        mask = Atomic(categories.rawValue)
        handler = { category, message in
            logger.debug("\(message)", metadata: ["category": "\(category.names.joined(separator: ","))"])
        }
        problemHandler = { logger.warning("\($0)") }
    }

    /// The written categories.
    public var categories: LogCategories {
        get { LogCategories(rawValue: mask.load(ordering: .relaxed)) }
        set { mask.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// Logs a mistake of the program that uses the library.
    func problem(_ message: String) { problemHandler(message) }

    func callAsFunction(_ category: LogCategories, _ message: @autoclosure () -> String) {
        guard categories.contains(category) else { return }
        handler(category, message())
    }
}
