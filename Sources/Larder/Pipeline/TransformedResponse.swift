// SPDX-License-Identifier: Apache-2.0

/// The pipeline's result for a response that a daemon received.
package struct TransformedResponse: Sendable {
    /// The resource's new data or error.
    package let response: Response
    /// The response for clients: bytes and the fields that describe them, or why there are none.
    package let served: Result<Entity<[UInt8]>, RequestError>
    /// True if `served` differs from the received response.
    package let isTransformed: Bool
    /// True if its bytes differ, too.
    package let hasOtherOctets: Bool
    let outputs: [PipelineRun.Output]

    /// A response that a program made, which goes through no pipeline.
    package static func untouched(_ response: Response, as served: Entity<[UInt8]>) -> TransformedResponse {
        TransformedResponse(
            response: response, served: .success(served), isTransformed: false, hasOtherOctets: false, outputs: [])
    }
}
