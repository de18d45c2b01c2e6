// SPDX-License-Identifier: Apache-2.0
public import Logging
import Synchronization

/// What the model can write to the log, topic by topic.
public struct LogCategories: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Requests and their outcomes.
    public static let network = LogCategories(rawValue: 1)
    /// Fields and sizes of requests and responses; fields that can hold secrets are redacted.
    public static let networkDetails = LogCategories(rawValue: 2)
    /// What pipelines do to responses.
    public static let pipeline = LogCategories(rawValue: 4)
    /// What happens to resources.
    public static let stateChanges = LogCategories(rawValue: 8)
    /// Who observes what.
    public static let observers = LogCategories(rawValue: 16)
    /// Why data was or was not asked for again.
    public static let staleness = LogCategories(rawValue: 32)
    /// What entity caches are asked and answer.
    public static let cache = LogCategories(rawValue: 64)
    /// Which configuration applies to what.
    public static let configuration = LogCategories(rawValue: 128)

    /// What one usually wants to see.
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

/// The log of one service: which categories are written can change at any time, where they go is chosen once.
public final class ModelLog: Sendable {
    /// Takes one line and the category it belongs to.
    public typealias Handler = @Sendable (_ category: LogCategories, _ message: String) -> Void

    private let mask: Atomic<UInt16>
    private let handler: Handler
    private let problemHandler: @Sendable (String) -> Void

    /// Makes a log that hands its lines to `handler`. What is wrong with a program, such as a base URL that is none,
    /// comes with the category `configuration` whether or not that is written.
    public init(categories: LogCategories = [], handler: @escaping Handler) {
        mask = Atomic(categories.rawValue)
        self.handler = handler
        problemHandler = { handler(.configuration, $0) }
    }

    /// Makes a log that writes to `logger` at debug level, the category in its metadata; what is wrong with a program is
    /// a warning, whatever the categories.
    public init(categories: LogCategories = [], logger: Logger = Logger(label: "larder")) {
        mask = Atomic(categories.rawValue)
        handler = { category, message in
            logger.debug("\(message)", metadata: ["category": "\(category.names.joined(separator: ","))"])
        }
        problemHandler = { logger.warning("\($0)") }
    }

    /// What is written.
    public var categories: LogCategories {
        get { LogCategories(rawValue: mask.load(ordering: .relaxed)) }
        set { mask.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// Says what is wrong with the program that uses the library.
    func problem(_ message: String) { problemHandler(message) }

    func callAsFunction(_ category: LogCategories, _ message: @autoclosure () -> String) {
        guard categories.contains(category) else { return }
        handler(category, message())
    }
}
