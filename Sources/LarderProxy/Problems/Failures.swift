// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

extension LoadFailure {
    /// True if the origin did answer, and the pipeline returned nothing that clients could get.
    package var isOfPipeline: Bool { (error as? PipelineFailure)?.isBusy == false }
}

/// The pipeline returned nothing that clients could get.
///
/// A transformer's words may quote the response: only those hear them who may have it.
struct PipelineFailure: Error, CustomStringConvertible {
    let cause: RequestError
    /// The response that was refused, as it would have been stored; nil where it is for its own client alone.
    private(set) var refused: StoredResponse?
    /// True if everybody may have the response.
    private(set) var isPublic = false

    init(cause: RequestError) { self.cause = cause }

    /// A copy of this failure, once the clients that may have the response are known.
    ///
    /// - Parameters:
    ///   - stored: nil where it is for its own client alone.
    ///   - isForEveryone: whether it answers everybody who asks for it.
    func refusing(_ stored: StoredResponse?, isForEveryone: Bool) -> PipelineFailure {
        var failure = self
        failure.refused = stored
        failure.isPublic = isForEveryone
        return failure
    }

    /// True if the budget was used up, so that a retry may succeed. That says nothing about the response.
    var isBusy: Bool { cause.cause is TransformersBusy }

    /// True if it says nothing to anybody but the client whose response it is.
    var isForOne: Bool { !isBusy && refused == nil }

    /// The status that clients get. A transformer may decide on it.
    var status: Status {
        if isBusy { return 503 }
        guard cause.isAboutInput, let status = cause.status, status.isError else { return 502 }
        return status
    }

    /// For everybody.
    var description: String {
        guard !isBusy else { return "the response could not be transformed: \(cause.userMessage)" }
        return "the origin's response was refused\(place)" + (isPublic ? ": \(cause.explanation.prefix(500))" : "")
    }

    private var place: String {
        let stage = cause.stage.map { " in stage ‘\($0.name)’" } ?? ""
        return stage + (cause.transformer.map { " by ‘\($0.prefix(200))’" } ?? "")
    }

    /// For the client whose response it is.
    var problem: Problem {
        guard !isBusy else {
            return Problem(
                status: status, title: "Too much to transform", proxyError: .proxyInternalResponse,
                detail: "The response could not be transformed: \(cause.userMessage.withFullStop)",
                advice: "Send the request again later, or raise `limits.transforming`.",
                fields: ["Retry-After": "1"])
        }
        var problem = Problem(
            status: status, title: "The response could not be transformed", proxyError: .proxyInternalError,
            detail: "The origin's response was refused\(place): \(cause.explanation.prefix(500))",
            advice: "Look at what the origin sent (`serve: raw` passes it on untouched) and at the transformer.")
        problem.publicDetail = description
        return problem
    }
}

/// The origin answered with an error, and what is stored stays.
struct OriginAnsweredError: Error, CustomStringConvertible {
    let status: Status

    var description: String { "the origin answered \(status)" }
}

/// The client left while its response was awaited.
struct ClientGone: Error {}
