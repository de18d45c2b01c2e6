// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

extension Storability {
    /// The result of one condition, and the field responsible for it.
    package struct Condition: Sendable, Hashable {
        package let condition: StorageCondition
        package let passed: Bool
        /// The field responsible; nil when it is the method, the status, or the absence of everything.
        package let field: FieldName?

        package init(_ condition: StorageCondition, passed: Bool, field: FieldName?) {
            self.condition = condition
            self.passed = passed
            self.field = field
        }
    }

    /// The results of all conditions in a few bytes, for later explanations.
    package struct Findings: Sendable, Hashable {
        /// A bit for each condition that failed, in their order.
        private var failed: UInt16 = 0
        /// Eight bits for each condition, in their order: 0, the code of the field responsible, or 128 and more for the
        /// others.
        private var codes: UInt128 = 0
        private var others: [FieldName] = []

        /// All conditions hold.
        package static let allPassed = Findings()

        private init() {}

        /// - Parameter brief: as `brief` returned it.
        package init(_ brief: Brief) {
            failed = brief.failed
            codes = UInt128(brief.codesHigh) << 64 | UInt128(brief.codesLow)
        }

        fileprivate init(_ trial: borrowing Trial) {
            for (number, condition) in StorageCondition.allCases.enumerated() {
                if !trial.holds(condition) { failed |= 1 << UInt16(number) }
                if let field = trial.field(of: condition) { codes |= UInt128(code(of: field)) << UInt128(8 * number) }
            }
        }

        private mutating func code(of field: FieldName) -> UInt8 {
            if field.registeredCode != 0 { return field.registeredCode }
            others.append(field)
            return 127 + UInt8(others.count)
        }

        private func field(_ number: Int) -> FieldName? {
            let code = UInt8(truncatingIfNeeded: codes >> UInt128(8 * number))
            return code < 128 ? FieldName(registeredCode: code) : others[Int(code) - 128]
        }

        /// The results of all conditions.
        package var conditions: [Condition] {
            StorageCondition.allCases.enumerated().map { number, condition in
                Condition(condition, passed: failed & 1 << UInt16(number) == 0, field: field(number))
            }
        }

        /// The same in 24 bytes, without the names of fields that have no code.
        package var brief: Brief {
            var known = codes
            if !others.isEmpty {
                for number in StorageCondition.allCases.indices where known >> UInt128(8 * number) & 128 != 0 {
                    known &= ~(255 << UInt128(8 * number))
                }
            }
            return Brief(
                failed: failed, codesLow: UInt64(truncatingIfNeeded: known),
                codesHigh: UInt64(truncatingIfNeeded: known >> 64))
        }

        /// Findings in 24 bytes, by `brief`.
        package struct Brief: Sendable, BitwiseCopyable {
            fileprivate let failed: UInt16
            fileprivate let codesLow: UInt64
            fileprivate let codesHigh: UInt64
        }

        /// The first condition that failed.
        package var obstacle: StorageCondition? {
            failed == 0 ? nil : StorageCondition.allCases[failed.trailingZeroBitCount]
        }
    }

    /// The results of all conditions. For explanations: `decide` stops at the first that fails.
    package static func conditions(
        request: RequestHead, target: TargetURI, response: ResponseHead, policy: CachePolicy, responseTime: Timestamp
    ) -> [Condition] {
        Trial(request: request, target: target, response: response, policy: policy, responseTime: responseTime)
            .findings.conditions
    }

    /// A response under evaluation: each condition is a function of the messages and the policy. For callers that need
    /// both the decision and the conditions behind it.
    package struct Trial: Sendable {
        private let request: RequestHead
        private let target: TargetURI
        private let response: ResponseHead
        private let policy: CachePolicy
        private let responseTime: Timestamp
        private let directives: CacheControl.Response
        private let redirectsAreKept: Bool
        private let asksNotToStore: Bool

        /// - Parameter redirectsAreKept: that each redirect on the way to the response may be kept (`FollowedRedirects`).
        package init(
            request: RequestHead, target: TargetURI, response: ResponseHead, policy: CachePolicy,
            responseTime: Timestamp, redirectsAreKept: Bool = true
        ) {
            self.redirectsAreKept = redirectsAreKept
            asksNotToStore = CacheControl.Request(request.fields).noStore
            self.request = request
            self.target = target
            self.response = response
            self.policy = policy
            self.responseTime = responseTime
            directives = policy.directives(
                of: response.fields, isPersonal: policy.personalField(of: request.fields) != nil)
        }

        /// Whether the response is stored; the first condition that fails decides.
        package var decision: StorabilityDecision {
            for condition in StorageCondition.allCases where !holds(condition) { return .doNotStore(condition) }
            return .store(reason ?? .heuristicallyCacheable, durability)
        }

        /// The results of all conditions.
        package var findings: Findings { Findings(self) }

        fileprivate func holds(_ condition: StorageCondition) -> Bool {
            switch condition {
            case .method: methodIsReusable
            case .status: !response.status.isInterim && !Storability.dependsOnMoreThanKey(response.status)
            case .mustUnderstand:
                !directives.flags.contains(.mustUnderstand) || Storability.isUnderstood(response.status)
            case .redirect: redirectsAreKept
            case .requestNoStore: !asksNotToStore
            // For the sake of other caches, the directives of a response behind a redirect that is not kept forbid keeping it.
            case .noStore:
                !redirectsAreKept || !directives.flags.contains(.noStore) || directives.flags.contains(.mustUnderstand)
            case .notPrivate:
                !redirectsAreKept || policy.role == .private || !directives.flags.contains(.isPrivate)
            case .authorization:
                policy.role == .private || policy.storesAuthorized || policy.ignoredResponse.isForEveryone
                    || !request.fields.contains(.authorization) || Storability.allowsAuthorized(directives)
            case .credentials: unnamedCredential == nil || Storability.allowsAuthorized(directives)
            case .requestContent:
                policy.keyedByContent || !(request.method == .get && Storability.hasContent(request))
            case .contentRange: response.status != 206 || isReadablePart
            case .vary: !policy.variance(of: response.fields, to: request.fields).matchesNothing
            // Where many share the cache, the response is stored without it.
            case .setCookie: true
            case .cacheable: reason != nil
            }
        }

        /// RFC 9110 §9.3.3: an answer to POST is cacheable when it has explicit freshness and says that it is the
        /// representation of the target.
        private var methodIsReusable: Bool {
            if request.method == .get { return true }
            if policy.keyedByContent {
                // A response to QUERY is storable like one to GET; a response to POST if its lifetime is explicit.
                if request.method == .query { return true }
                return request.method == .post
                    && (hasExplicitLifetime || policy.expirationTime(for: response.status) != nil)
            }
            guard request.method == .post, response.status.isSuccess, hasExplicitLifetime else { return false }
            guard let location = response.fields[.contentLocation] else { return false }
            return target.resolving(location) == target
        }

        /// A part is useful only to recipients that know which part it is (RFC 9110 §15.3.7).
        private var isReadablePart: Bool {
            guard request.fields.contains(.range) else { return false }
            if case .range = ContentRange(response.fields) { return true }
            guard !response.fields.contains(.contentRange) else { return false }
            return response.fields.withFirst(.contentType) {
                $0.count >= 20 && UnsafeRawBufferPointer(rebasing: $0[..<20]).isFolded("multipart/byteranges")
            } ?? false
        }

        private var hasExplicitLifetime: Bool {
            if policy.role == .shared, directives.sMaxage != nil { return true }
            return directives.maxAge != nil || (!directives.isTargeted && response.fields.contains(.expires))
        }

        private var isOverridden: Bool {
            policy.expirationMode == .override && policy.expirationTime(for: response.status) != nil
        }

        /// The reason why the response is cacheable, if there is one (the last requirement of RFC 9111 §3).
        private var reason: StorageReason? {
            if isOverridden, personalEvidence == nil { return .configured }
            if hasExplicitLifetime { return .explicit(explicitSource) }
            if directives.flags.contains(.isPublic) { return .marked }
            if policy.role == .private, directives.flags.contains(.isPrivate) { return .marked }
            // Only the origin makes a response storable that may be one user's.
            if let named = policy.expirationTimes[response.status], personalEvidence == nil {
                return named > .zero ? .configured : nil
            }
            guard Freshness.isHeuristicallyCacheable(response.status),
                personalEvidence == nil
            else { return nil }
            return .heuristicallyCacheable
        }

        /// A credential of the request that is not part of the key, where users have separate parts of the cache.
        private var unnamedCredential: FieldName? {
            policy.ignoredResponse.isForEveryone ? nil : policy.identity?.unnamedCredential(in: request.fields)
        }

        /// A field that makes the response look like one user's, in a shared cache.
        private var personalEvidence: FieldName? {
            if policy.role == .private { return nil }
            if let field = policy.personalField(of: request.fields) { return field }
            let isIgnored = policy.ignored(forPersonal: false).contains(.setCookie)
            return !isIgnored && response.fields.contains(.setCookie) ? .setCookie : nil
        }

        private var explicitSource: Freshness.Source {
            if policy.role == .shared, directives.sMaxage != nil { return .sMaxage }
            return directives.maxAge != nil ? .maxAge : .expires
        }

        private var durability: StorabilityDecision.Durability {
            guard response.status.isError else { return .durable }
            // Errors of the origin do not survive a restart, whatever lifetime they have.
            if response.status.isServerError { return .memory }
            let lifetime = Freshness.lifetime(
                status: response.status, fields: response.fields, directives: directives,
                date: response.fields.date(.date, now: responseTime), responseTime: responseTime, policy: policy)
            return lifetime.source == .retryTime ? .memory : .durable
        }

        fileprivate func field(of condition: StorageCondition) -> FieldName? {
            switch condition {
            case .method, .status, .redirect, .setCookie: nil
            case .mustUnderstand, .noStore, .notPrivate: directives.source
            case .requestNoStore: request.fields.contains(.cacheControl) ? .cacheControl : nil
            case .authorization: request.fields.contains(.authorization) ? .authorization : nil
            case .credentials: unnamedCredential
            case .requestContent: request.fields.contains(.transferEncoding) ? .transferEncoding : .contentLength
            case .contentRange: response.status == 206 ? .contentRange : nil
            case .vary: response.fields.contains(.vary) ? .vary : nil
            case .cacheable:
                switch reason {
                case .explicit(.expires): .expires
                case nil where isOverridden || Freshness.isHeuristicallyCacheable(response.status):
                    personalEvidence ?? directives.source
                case .explicit, .marked, nil: directives.source
                case .heuristicallyCacheable, .configured: nil
                }
            }
        }
    }
}
