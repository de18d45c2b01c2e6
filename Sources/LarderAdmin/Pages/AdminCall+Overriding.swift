// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

/// The page that overrides an origin's content.
extension AdminCall {
    /// The content of the request becomes the resource's, with its `Content-Type`.
    func override() throws -> OwnResponse {
        let subject = try proxy.subject(of: parameters.required("url"))
        let override = Override(
            content: request.content, type: try AdminCall.type(of: request.fields),
            lifetime: try parameters.lifetime("for"))
        let (variant, partition) = try proxy.override(
            subject, with: override, fields: try parameters.fields("header"), from: network)
        var answer: JSONObject = ["url": .string(subject.url)]
        if partition != .shared { answer["partition"] = .string(partition.name) }
        answer["result"] = "overridden, until it is stale, loaded, written or wiped"
        answer["resource"] = VariantReport(variant: variant, now: proxy.now).json
        return OwnResponse(json: .object(answer))
    }

    private static func type(of fields: Fields) throws(Problem) -> MediaType {
        guard !fields.contains(.contentRange) else {
            throw .badParameter(
                "A part of the content came, as Content-Range says.", advice: "Send all of it, without that field.")
        }
        if let coding = fields[.contentEncoding], coding.lowercased() != "identity" {
            throw Problem(
                status: 415, title: "Unsupported coding", proxyError: .httpRequestError,
                detail: "The content is coded as ‘\(coding.prefix(60))’; every client gets what is sent here as it is.",
                advice: "Send it without Content-Encoding.")
        }
        let text = fields[.contentType] ?? "application/octet-stream"
        guard let type = MediaType(text) else {
            throw .badParameter(
                "‘\(text.prefix(100))’ is no media type.", advice: "Write it as ‘application/json’ in Content-Type.")
        }
        return type
    }
}

extension AdminParameters {
    fileprivate func lifetime(_ name: String) throws(Problem) -> Duration? {
        guard let text = text(name) else { return nil }
        do throws(Override.NotALifetime) {
            return try Override.lifetime(text)
        } catch {
            throw .badParameter(
                "‘\(name)’ is ‘\(text.prefix(60))’; \(Override.NotALifetime.expected) was expected.",
                advice: error.suggestion.map { "Did you mean ‘\($0)’?" }
                    ?? "Write it as ‘10 min’ or ‘1 h’, or leave it out.")
        }
    }
}
