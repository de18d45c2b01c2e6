// SPDX-License-Identifier: Apache-2.0

extension Service {
    /// Makes a service that reaches its origin through a session.
    public convenience init(
        _ name: String = "service", baseURL: String? = nil,
        standardTransformers: [StandardTransformer] = [.json, .text, .image],
        session: some Session<OutgoingRequest, IncomingResponse, any Error>
    ) {
        self.init(
            name, baseURL: baseURL, standardTransformers: standardTransformers, transport: SessionTransport(session))
    }
}
