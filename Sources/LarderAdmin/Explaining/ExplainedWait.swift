// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules

/// The outcome of a request whose origin is in backoff.
enum ExplainedWait {
    static func explain(
        _ wait: Plan.Wait, _ situation: Situation
    ) -> (reason: String, outcome: String, advice: [String]) {
        let meanwhile = wait.stale.map { _ in "the stored response would be served, stale." }
        switch wait.cause {
        case .retryTime:
            guard let failure = situation.failure else { return (wait.cause.word, "", []) }
            if failure.isOfPipeline { return refused(failure, meanwhile) }
            return (
                wait.cause.word,
                "The origin failed at \(ISOTime.string(failure.at)) and is left alone for now; "
                    + (meanwhile ?? "the error would be answered."),
                [
                    "Once its cause is mended, have it asked at once: send `Cache-Control: no-cache`, or `larder load URL`.",
                    "The error: \(failure.error)",
                    "It is asked again from \(ISOTime.string(failure.retryAt)) on; `retryTime` in a configure block says how long that is.",
                ]
            )
        case .held(let hold):
            let why =
                switch hold.reason {
                case .circuitOpen: "The origin has failed too often in a row and is left alone for now"
                case .quota: "The rest of the origin's quota is kept for writes (`quota.reserve`)"
                case .retryAfter: "The origin has asked to be left alone (\(hold.status.map { "\($0)" } ?? "429"))"
                }
            var advice = [
                "It is asked again from \(ISOTime.string(situation.now + hold.remaining)) on.",
                "To have it asked at once: send `Cache-Control: no-cache`, or `larder load URL`.",
            ]
            if hold.reason == .retryAfter {
                advice.append("`upstream.retryAfterLimit` bounds how long its word counts.")
            }
            return (
                wait.cause.word,
                "\(why); " + (meanwhile ?? "an error with `Retry-After` would be answered."), advice
            )
        }
    }

    /// How to get what a pipeline refuses.
    static let mending =
        "Mend the transformer: until then `larder load` fails in the same way. `serve: raw` in a configure block passes "
        + "on what the origin sends."

    /// The origin works: another request would bring the same response.
    private static func refused(
        _ failure: LoadFailure, _ meanwhile: String?
    ) -> (reason: String, outcome: String, advice: [String]) {
        (
            Plan.Wait.Cause.retryTime.word,
            "The service's pipeline refused at \(ISOTime.string(failure.at)) what the origin sent, which is left alone for "
                + "now; " + (meanwhile ?? "the error would be answered."),
            [
                mending,
                "The error: \(failure.error)",
                "The origin is asked again from \(ISOTime.string(failure.retryAt)) on.",
            ]
        )
    }
}
