// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// The pipeline returned nothing that clients could get.
struct PipelineFailure: Error {
    let cause: RequestError

    /// Whether the budget was used up, so that a retry may succeed.
    var isBusy: Bool { cause.cause is TransformersBusy }

    var problem: Problem {
        guard !isBusy else {
            var problem = Problem(
                status: 503, title: "Too much to transform", proxyError: .proxyInternalResponse,
                detail: "The response could not be transformed: \(cause.userMessage.withFullStop)",
                advice: "Send the request again later, or raise `limits.transforming`.")
            problem.fields[.retryAfter] = "1"
            return problem
        }
        let place = cause.stage.map { " in stage ‘\($0.name)’" } ?? ""
        let transformer = cause.transformer.map { " by ‘\($0.prefix(200))’" } ?? ""
        return Problem(
            status: 502, title: "The response could not be transformed", proxyError: .proxyInternalError,
            detail: "The origin's response was refused\(place)\(transformer): \(cause.userMessage.prefix(500))",
            advice: "Look at what the origin sent (`serve: raw` passes it on untouched) and at the transformer.")
    }
}
