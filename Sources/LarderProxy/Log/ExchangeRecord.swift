// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// The outcome of an exchange: the log, the counters and `Cache-Status` are made from this value.
struct ExchangeRecord {
    var startedAt: Int64 = 0
    /// Nanoseconds from the parsed head to the last byte passed to the kernel.
    var duration: Int64 = 0
    /// How many of them were waited in a replay at the origin's pace, which is no latency.
    var pauses: Int64 = 0
    var kind = LoopCounters.Kind.pass
    var status: Status = 0
    var service = ""
    /// The counters of its service.
    var counters: ServiceCounters?
    var cacheStatus: CacheStatus?
    /// The error that it was answered with.
    private(set) var problem: Problem?
    /// How long the client waited for a response of the cache or an origin, in nanoseconds; nil where it was for neither,
    /// as for errors that Larder knew at once.
    var latency: Int64? {
        switch kind {
        case .own, .tunnel, .refused: nil
        case .error where problem?.isOfOrigin != true: nil
        default: duration - pauses
        }
    }
    /// Bytes of content sent to the client.
    var contentSent: Int64 = 0
    /// Bytes that a tunnel or another protocol brought to the client.
    var relayed: Int64 = 0
    /// All that came to the client behind heads.
    var octets: Int64 { contentSent + relayed }
    /// The proven name of the client's user.
    var user: String?

    /// The exchange ended with an error of Larder's own.
    mutating func fail(_ problem: Problem) {
        kind = problem.status.isServerError ? .error : .refused
        self.problem = problem
        cacheStatus = cacheStatus?.stored(false)
    }
}
