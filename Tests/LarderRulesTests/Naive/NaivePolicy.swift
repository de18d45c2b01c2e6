// SPDX-License-Identifier: Apache-2.0

/// The settings the naive cache knows, in milliseconds.
struct NaivePolicy {
    var isShared = true
    var expirationTime: Int?
    var mode = "fallback"
    var retryTime = 0
    var staleWhileRevalidate = 0
    var staleIfError = 0
    var targets: [String] = []
    var isOffline = false
    var storesAuthorized = false
}

/// For ever, in milliseconds.
let naiveInfinity = 2_147_483_648_000

/// A stored response and everything it came from.
struct NaiveEntry {
    var request: NaiveMessage
    var response: NaiveMessage
    var requestTime: Int
    var responseTime: Int
    /// Which octets are held: nil for all of them.
    var held: Set<Int>?
    var completeLength: Int?
    /// The length of the content is not what it says.
    var isUncuttable = false
    /// Names in Vary with the values of the request; nil when nothing matches.
    var vary: [String: String?]?
    var wasAuthorized: Bool
    var setCookie = false
    var standing = "asReceived"
    /// The value of Range the response answered.
    var range: String?

    func isPersonal(_ policy: NaivePolicy) -> Bool { setCookie || request.isPersonal(policy) }
}

extension NaiveMessage {
    /// Whether a request has a user's credentials.
    func isPersonal(_ policy: NaivePolicy) -> Bool {
        has("cookie") || has("authorization") && !policy.storesAuthorized
    }
}
