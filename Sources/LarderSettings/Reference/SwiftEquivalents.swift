// SPDX-License-Identifier: Apache-2.0

/// The Swift for settings of services and blocks, for services that a program has.
///
/// Settings that are not here are for the file alone. It may have an entry of the same name as a service in Swift, whose
/// settings are added to that one's.
enum SwiftEquivalents {
    /// Of a service.
    static let service = [
        "baseURL": "`baseURL`",
        "mount": "`mount`",
        "privacy": "`$0.privacy`; `identity` is the file's",
        "offline": "`$0.isOffline`, without `auto`",
        "standardTransformers": "`$0.pipeline.add(.json)`, `.text`, `.image`",
        "configure": "`service.configure(…) { … }`, in `configure(_:)` or later",
    ]

    /// Of a block: of the arguments of `service.configure`, and of the `Configuration` that its closure changes.
    static let block = [
        "match": #"`configure("/users/*")`"#,
        "regex": #"`configure(try RegexPattern("^https://…"))`"#,
        "url": "`configure(service.resource(…))`",
        "except": "`configure(whenURLMatches:)`",
        "query": "`configure(whenURLMatches:)`",
        "scheme": "`configure(whenURLMatches:)`",
        "host": "`configure(whenURLMatches:)`",
        "methods": "`configure(…, methods:)`",
        "description": "`configure(…, description:)`",
        "headers": "`$0.fields`; `$0.mutateRequests` where they depend on the request",
        "expirationTime": "`$0.expirationTime` and `$0.expirationMode`, without times for statuses",
        "override": "`$0.expirationMode`",
        "retryTime": "`$0.retryTime`",
        "staleWhileRevalidate": "`$0.staleWhileRevalidate`",
        "staleIfError": "`$0.staleIfError`",
        "cache": "`$0.caching`",
        "offline": "`$0.isOffline`, without `auto`",
        "reloadOnRecovery": "`service.reloadAfterRecovery()`, when the program knows of it",
        "onChange": "`resource.addObserver(…)`, for `newData`",
        "pipeline": "`$0.pipeline`, `service.configureTransformer(…)`",
        "serve": "`$0.serving`",
        "transformTimeout": "`$0.transformTimeout`",
        "transformedSizeLimit": "`$0.transformedSizeLimit`",
        "decorate.retry": """
        `$0.retry(RetryPolicy(…))`: without the service's budget, for 408 and 429 too, and not told in `Cache-Status`
        """,
        "decorate.refreshToken": "`$0.decorateRequests(TokenRefresh(…).decorate)`",
        "decorate.delay": "`$0.decorateRequests { … }`, with [a delegate](library.md#what-has-to-wait)",
        "afterWrite": "`$0.afterWrite`",
    ]

    /// A row for each of the settings: its equivalent, or that there is none.
    static func table(_ settings: [SettingDescription], _ equivalents: [String: String]) -> String {
        let rows = settings.filter { equivalents[$0.name] != nil }
            .map { "| `\($0.name)` | \(equivalents[$0.name] ?? "") |" }
        return (["| in the file | in Swift |", "|---|---|"] + rows).joined(separator: "\n")
    }

    /// The names of those without an equivalent.
    static func others(_ settings: [SettingDescription], _ equivalents: [String: String]) -> String {
        settings.map(\.name).filter { equivalents[$0] == nil }.map { "`\($0)`" }.joined(separator: ", ")
    }
}
