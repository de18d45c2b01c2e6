// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderRules

extension Diagnosis {
    /// Why a response was not stored, by a condition of `/-/explain` that was not met.
    static func words(_ condition: JSONValue) -> String {
        let field = condition["field"]?.string.map { " (\($0))" } ?? ""
        let known = condition["condition"]?.string.flatMap { StorageCondition(rawValue: $0) }
        guard let known else {
            return (condition["meaning"]?.string.map { "it does not hold that \($0)" } ?? "for an unknown reason")
                + field
        }
        return words(known) + field
    }

    private static func words(_ condition: StorageCondition) -> String {
        switch condition {
        case .method: "responses to this method cannot be used again"
        case .status: "a response with this status is for one request only"
        case .mustUnderstand: "the status is not known here, and the response says must-understand"
        case .redirect: "a redirect that was followed may not be kept"
        case .requestNoStore: "the request says no-store"
        case .noStore: "the response says no-store"
        case .notPrivate: "the response is for one user (private), and the cache is shared"
        case .authorization: "the request has credentials, and the response may not be shared"
        case .credentials: "the request has credentials that `identity` leaves out"
        case .requestContent: "content outside the key made the origin choose the response"
        case .contentRange: "it is a part that does not say which"
        case .vary: "no later request can be told to match"
        case .setCookie: "it sets a cookie"
        case .cacheable: "it has no lifetime, and neither status nor directives make it cacheable"
        }
    }
}
