// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

/// The conditions of RFC 9111 §3 for storing a response, each with its result.
enum ExplainedStorage {
    /// Evaluates the conditions for the stored response if there is one, else for the last response that was not
    /// stored. Before the first response, evaluates the conditions that depend on the request alone.
    static func conditions(_ situation: Situation, selected: Int?) -> (subject: String, [Explanation.Condition]) {
        guard situation.isRead else { return ("nothing is kept of the answer to \(situation.method)", []) }
        guard situation.configuration.caches else { return ("nothing is kept: `cache: none`", []) }
        if let selected {
            let stored = situation.variants[selected].stored
            let response = ResponseHead(status: stored.status, fields: stored.fields)
            let conditions = judge(situation, response, stored.responseTime)
            return (
                "if the origin answered this request as it did then",
                conditions.filter { isOfConcern($0, stored.status, situation.keeping) }.map {
                    condition($0, situation, response)
                }
            )
        }
        if let unstored = situation.unstored {
            let subject =
                "the last response, \(unstored.status.rawValue) at \(ISOTime.string(unstored.at)), which was not stored"
            let conditions = unstored.conditions.filter { isOfConcern($0, unstored.status, situation.keeping) }
                .map { condition($0, unstored, situation.keeping) }
            return (subject, conditions + hindrance(of: unstored, situation.contentLimit))
        }
        let response = ResponseHead(status: 200)
        let conditions = judge(situation, response, situation.now).filter {
            requestAlone.contains($0.condition) && isOfConcern($0, 200, situation.keeping)
        }
        return ("as far as the request alone decides", conditions.map { condition($0, situation, response) })
    }

    private static let requestAlone: Set<StorageCondition> = [
        .method, .requestNoStore, .authorization, .credentials, .requestContent,
    ]

    /// Conditions about parts do not concern a whole, nor those about users where they are not separated, nor those about
    /// redirects where there is nothing to say about them.
    private static func isOfConcern(
        _ outcome: Storability.Condition, _ status: Status, _ policy: CachePolicy
    ) -> Bool {
        switch outcome.condition {
        case .contentRange: status == 206
        case .redirect: !outcome.passed
        case .credentials: policy.identity != nil
        default: true
        }
    }

    /// The last condition, which is not one of RFC 9111's.
    private static func hindrance(of unstored: UnstoredResponse, _ limit: Int64?) -> [Explanation.Condition] {
        let (field, meaning): (FieldName?, String)
        switch unstored.reason {
        case .cut: (field, meaning) = (.contentType, "its end is the end of a stream, as `streamEnd` says")
        case .tooLarge:
            let most = limit.map { ": at most \(ByteCount(Int($0)))" } ?? ""
            (field, meaning) = (.contentLength, "it is not larger than what is kept" + most)
        case .otherPartition: (field, meaning) = (nil, "it is for the credentials that the request came with")
        case .otherMethod: (field, meaning) = (nil, "it is to the method that was asked for")
        case .unread: (field, meaning) = (nil, "it is no error, or the stored response can be read")
        case .outlasted: (field, meaning) = (nil, "it is no error, or no stored response answers in its place")
        case .condition, .part: return []
        }
        return [
            Explanation.Condition(
                name: unstored.reason.word, isMet: false, field: field.flatMap { unstored.line($0) }, meaning: meaning)
        ]
    }

    private static func judge(
        _ situation: Situation, _ response: ResponseHead, _ responseTime: Timestamp
    ) -> [Storability.Condition] {
        Storability.conditions(
            request: situation.request, target: situation.uri, response: response, policy: situation.keeping,
            responseTime: responseTime)
    }

    private static func condition(
        _ outcome: Storability.Condition, _ situation: Situation, _ response: ResponseHead
    ) -> Explanation.Condition {
        let field = shownField(outcome).map { name in
            let value =
                requestAlone.contains(outcome.condition) ? situation.request.fields[name] : response.fields[name]
            return value.map { "\(name): \(ShownFields.value($0, of: name))" } ?? "\(name)"
        }
        return Explanation.Condition(
            name: outcome.condition.rawValue, isMet: outcome.passed, field: field,
            meaning: meaning(outcome.condition, situation.keeping))
    }

    private static func condition(
        _ outcome: Storability.Condition, _ unstored: UnstoredResponse, _ policy: CachePolicy
    ) -> Explanation.Condition {
        let field = shownField(outcome).map { name in
            unstored.line(name) ?? "\(name)"
        }
        return Explanation.Condition(
            name: outcome.condition.rawValue, isMet: outcome.passed, field: field,
            meaning: meaning(outcome.condition, policy))
    }

    /// The field responsible for the result.
    private static func shownField(_ outcome: Storability.Condition) -> FieldName? {
        !outcome.passed || [.cacheable, .vary, .contentRange].contains(outcome.condition) ? outcome.field : nil
    }

    /// The requirement of the condition.
    static func meaning(_ condition: StorageCondition, _ policy: CachePolicy = CachePolicy()) -> String {
        switch condition {
        case .method: "responses to the method can be used again"
        case .status: "the status is final and does not depend on more than the URL"
        case .mustUnderstand: "a status under must-understand is known here"
        case .redirect: "each redirect that was followed may be kept, too"
        case .requestNoStore: "the request does not say no-store"
        case .noStore: "the response does not say no-store"
        case .notPrivate: "the response is not private, or the cache is"
        case .authorization: "no credentials, or a directive that allows sharing all the same"
        case .credentials: "no credentials that `identity` leaves out, or a directive that allows sharing all the same"
        case .requestContent: "no content outside the key made the origin choose this response"
        case .contentRange: "a part says which part it is"
        case .vary: "a later request can be told to match"
        case .setCookie:
            policy.role == .shared
                ? "a cookie goes to the client that asked, and is not kept" : "no cookie keeps it out"
        case .cacheable: "it has a lifetime, or its status or a directive makes it cacheable"
        }
    }

    /// Why responses were not stored, as a clause that follows "as".
    ///
    /// - Parameter word: the `detail` in `Cache-Status`.
    static func reason(_ word: String) -> String {
        switch word {
        case UnstoredReason.condition(.cacheable).word: "the origin names no lifetime"
        case "no-store": "the origin says no-store"
        case "request-no-store": "the request says no-store"
        case "private": "the origin says that they are one user's (private)"
        case "authorization": "the requests carry Authorization"
        case "credentials": "the requests carry credentials that `identity` leaves out"
        case "vary": "the origin says that each request may get another (Vary: *)"
        case "status": "their status is for one request only"
        case UnstoredReason.tooLarge.word: "they are larger than what is kept"
        case UnstoredReason.cut.word: "they broke off"
        case UnstoredReason.part.word: "only parts were asked for"
        case let word where word.hasPrefix("method "): "the \(word) is not answered from the cache"
        default: word
        }
    }

    /// How to have the last response, which was not stored, stored the next time.
    static func remedy(for unstored: UnstoredResponse, _ situation: Situation) -> String {
        if case .condition(let condition) = unstored.reason {
            let evidence = unstored.conditions.first { $0.condition == .cacheable && !$0.passed }?.field
            if condition == .cacheable, let evidence, let personal = ExplainedPersonality(evidence) {
                return personal.remedy(situation)
            }
            if condition == .noStore, let field = situation.keeping.personalField(of: situation.request.fields) {
                return remedy(condition, situation)
                    + " As the request carries \(field), that counts only with `everyone: true`."
            }
        }
        return remedy(unstored.reason, status: unstored.status, situation)
    }

    private static func remedy(_ reason: UnstoredReason, status: Status, _ situation: Situation) -> String {
        switch reason {
        case .condition(.cacheable) where status.isError:
            "It is an error without a lifetime, which is for one request only. See whether the origin says so without "
                + "Larder: `curl -i URL`."
        case .condition(let condition): remedy(condition, situation)
        case .tooLarge:
            "Raise `cache.maxObject` or `cache.disk`, of which one response may have an eighth; without a disk, content has "
                + "to fit into a sixteenth of `cache.memory`."
        case .cut:
            "The stream broke off, or ends in none of the texts of `streamEnd`. The next one is kept when it is whole."
        case .otherPartition:
            "The credentials were renewed while it was loaded, so it is for another partition. Responses to the next "
                + "requests are kept."
        case .otherMethod:
            "A mutator of the program's sends another method. Let it keep GET where responses are to be stored."
        case .unread:
            "The stored response could not be read, and stays for when it can: `larder status` and the log say what is wrong "
                + "with the disk."
        case .outlasted:
            "The stored response answers in place of the error, and stays for that: as long as `staleIfError` says, or the "
                + "origin by `stale-if-error`."
        case .part: "Only a part was asked for; `larder load URL` brings all of it."
        }
    }

    /// Advice on where to write a setting: in the service, or in a new service if no service claims the URL.
    private static func place(for setting: String, of service: String) -> String {
        service == "-"
            ? "describe the API as a service with `\(setting)`" : "set `\(setting)` for the service `\(service)`"
    }

    /// How to satisfy the condition.
    static func remedy(_ condition: StorageCondition, _ situation: Situation) -> String {
        let service = situation.service.name
        let block = SuggestedBlock(situation)
        return switch condition {
        case .noStore:
            "The origin forbids keeping it (no-store). If it is wrong about that: "
                + block.adding("ignoreResponse: [no-store], expirationTime: { time: 10 min, mode: override }")
        case .redirect:
            "A redirect on the way says no-store, or is a 302, 303 or 307 that names no lifetime: give it one with "
                + "`expirationTime: { time: …, mode: override }` in the block with `followRedirects`."
        case .requestNoStore: "Leave `no-store` out of the request's Cache-Control."
        case .notPrivate:
            "The origin allows one user only: \(place(for: "privacy: private", of: service)) if this Larder has one."
        case .authorization:
            "The request carries Authorization: \(place(for: "privacy: partitioned", of: service)) to keep responses for "
                + "each user apart, or have the origin say `public`."
        case .credentials:
            "The request carries credentials that `identity` of `\(service)` leaves out: name them there, remove them by "
                + "`headers` if the origin does not need them, or have the origin say `public`."
        case .cacheable:
            "The origin names no lifetime. To give it one: "
                + block.adding("expirationTime: { time: 10 min, mode: override }")
        case .vary:
            "The origin says that every request may get something else (Vary: *). Only the origin can change that."
        case .status: "A response with this status is for its own request only."
        case .mustUnderstand:
            "The origin says must-understand with a status whose rules for caching are not known here. Only the origin can change that."
        case .setCookie: "Have the origin leave Set-Cookie out of responses that many may share."
        case .method, .requestContent, .contentRange:
            "Its condition is: \(meaning(condition))."
        }
    }
}

extension UnstoredResponse {
    /// The field as it is shown, if it was recorded.
    fileprivate func line(_ name: FieldName) -> String? { fields[name].map { "\(name): \($0.prefix(200))" } }
}
