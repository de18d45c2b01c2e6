// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderRules

/// The tokens saved by answering requests to language models from the cache: by service and model, since the start.
package final class SavingsTable: Sendable {
    package struct Line: Sendable, Equatable {
        package var service: String
        package var model: String
        package var answers: Int
        package var input: Int
        package var output: Int
    }

    private struct Subject: Hashable {
        var service: String
        var model: String
    }

    private let lines = Lock<[Subject: Line]>([:])
    /// The most models of all services together that are counted individually.
    private static let limit = 1_000

    package init() {}

    func add(_ usage: ModelUsage, of service: String) {
        lines.withLock { lines in
            var subject = Subject(service: service, model: usage.model)
            if lines[subject] == nil, lines.count >= SavingsTable.limit { subject.model = "others" }
            var line =
                lines[subject] ?? Line(service: service, model: subject.model, answers: 0, input: 0, output: 0)
            line.answers += 1
            line.input += usage.input
            line.output += usage.output
            lines[subject] = line
        }
    }

    /// In the order of their names.
    package var all: [Line] {
        lines.withLock { $0.values.sorted { ($0.service, $0.model) < ($1.service, $1.model) } }
    }
}
