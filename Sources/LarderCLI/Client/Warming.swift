// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import Synchronization

/// Has a daemon load many resources, a few at a time.
final class Warming: Sendable {
    /// The outcomes of all loads.
    struct Summary: Equatable {
        var loaded = 0
        var upToDate = 0
        var notStored = 0
        var failures: [Failure] = []

        var total: Int { loaded + upToDate + notStored + failures.count }

        struct Failure: Equatable {
            let url: String
            let why: String
        }
    }

    private let load: @Sendable (String) throws -> JSONValue
    private let summary = Lock(Summary())
    private let next = Atomic<Int>(0)

    /// - Parameter load: requests one URL and returns the daemon's response.
    init(load: @escaping @Sendable (String) throws -> JSONValue) { self.load = load }

    /// Loads all of `urls`, `parallel` at a time, in their order.
    ///
    /// - Parameter tell: called after each, one call at a time, with the outcomes so far.
    func run(_ urls: [String], parallel: Int, tell: @escaping @Sendable (Summary) -> Void) -> Summary {
        let threads = min(parallel, max(1, urls.count))
        let pool = WorkerPool(name: "larder-warm", threads: threads, queueLimit: threads)
        for _ in 0..<threads {
            _ = pool.submit { [self] in
                while true {
                    let index = next.add(1, ordering: .relaxed).oldValue
                    guard index < urls.count else { return }
                    warm(urls[index], tell)
                }
            }
        }
        // Each thread works until no URL is left.
        pool.shutdown()
        return summary.withLock { $0 }
    }

    private func warm(_ url: String, _ tell: (Summary) -> Void) {
        let result = Result { try load(url) }
        summary.withLock { summary in
            switch result {
            case .success(let answer):
                if let failure = Warming.failure(in: answer) {
                    summary.failures.append(.init(url: url, why: failure))
                    break
                }
                switch answer["result"]?.string?.prefix(12) {
                case "up to date; ": summary.upToDate += 1
                case "loaded, but ": summary.notStored += 1
                default: summary.loaded += 1
                }
            case .failure(let error): summary.failures.append(.init(url: url, why: "\(error)"))
            }
            tell(summary)
        }
    }

    /// The failure in the daemon's report of a load, in words; nil where there is none.
    static func failure(in answer: JSONValue) -> String? {
        guard let status = (answer["status"] ?? answer["resource"]?["status"])?.int, status >= 400 else { return nil }
        return "the origin answered \(status)"
    }

    /// The URLs in a file, one per line. Ignores empty lines and lines that begin with `#`.
    static func urls(in content: [UInt8]) -> [String] {
        String(decoding: content, as: UTF8.self).split(whereSeparator: \.isNewline)
            .map { $0.trimmingPrefix { $0 == " " || $0 == "\t" } }
            .map { line in String(line.reversed().drop { $0 == " " || $0 == "\t" }.reversed()) }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }
}

extension Warming.Summary {
    func text(_ style: TextStyle) -> String {
        var counts = ["\(Quantity.count(loaded)) loaded", "\(Quantity.count(upToDate)) up to date already"]
        if notStored > 0 { counts.append("\(Quantity.count(notStored)) loaded but not stored") }
        if !failures.isEmpty { counts.append(style.bad("\(Quantity.count(failures.count)) failed")) }
        return counts.joined(separator: ", ") + "\n"
            + failures.map { "  \(Outline.printable($0.url)): \(Outline.printable($0.why))\n" }.joined()
    }

    var json: JSONValue {
        [
            "total": .number(JSONNumber(total)), "loaded": .number(JSONNumber(loaded)),
            "upToDate": .number(JSONNumber(upToDate)), "notStored": .number(JSONNumber(notStored)),
            "failures": .array(failures.map { ["url": .string($0.url), "error": .string($0.why)] }),
        ]
    }
}
