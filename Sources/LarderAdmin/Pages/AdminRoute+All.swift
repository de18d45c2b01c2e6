// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderDashboard
import LarderHTTP
import LarderProxy
import LarderRules

extension AdminRoute {
    /// The admin surface, in the order of docs/api.md. The methods of a path stand in the order of its `Allow`.
    static let all = reading + changing

    private static let reading = [
        AdminRoute(.get, "/", .open, with: nil, "The dashboard for browsers, a short text for everything else") {
            FirstPage.answer($0.request, $0.proxy)
        },
        AdminRoute(.get, "/favicon.ico", .read, with: nil, "The dashboard's icon") { _ in FirstPage.file(.icon) },
        AdminRoute(.get, "/-/assets/FILE", .open, with: nil, "The files of the dashboard") { call in
            guard let file = FirstPage.asset(call.name) else { throw Problem.nothingThere(call.request.path) }
            return file
        },
        AdminRoute(.get, "/-/health", .open, "`healthy` while the process works") { _ in
            OwnResponse(text: "healthy\n")
        },
        AdminRoute(.get, "/-/ready", .anyone, "`ready` while requests are accepted, else status 503") { call in
            guard call.proxy.phase == .serving else { throw Problem.notReady }
            return OwnResponse(text: "ready\n")
        },
        AdminRoute(.get, "/-/status", .open, "JSON: version, uptime, counts by outcome, sizes, services, origins") {
            await $0.showStatus()
        },
        AdminRoute(
            .get, "/-/metrics", .open,
            "As `/-/status`, for Prometheus, or as OpenMetrics if `Accept` asks for `application/openmetrics-text`"
        ) { await $0.metrics() },
        AdminRoute(
            .get, "/-/resources", .read, with: ["match", "service", "limit", "after", "sort", "state", "url"],
            "JSON: the resources and their state; with `url` alone, one of them in full"
        ) { try await $0.resources() },
        AdminRoute(
            .get, "/-/requests", .read, with: ["match", "service", "limit", "after"],
            "JSON: the last requests, newest first, with what became of them"
        ) { try await $0.requests() },
        AdminRoute(
            .get, "/-/highlights", .read, with: ["limit"],
            "JSON: resources that answered most, the slowest loads, and what is asked for most and not stored"
        ) { try await $0.highlights() },
        AdminRoute(.get, "/-/history", .open, "JSON: counts and latencies of the last quarter of an hour and day") {
            $0.showHistory()
        },
        AdminRoute(
            .get, "/-/content", .read, with: ["url", "header", "version"],
            "The stored content without its content codings, at most 4 MiB, to clients on this machine"
        ) { try await $0.content() },
        AdminRoute(
            .get, "/-/versions", .read, with: ["url", "header"],
            "JSON: the versions of a resource that a `history` keeps, the latest first"
        ) { try await $0.versions() },
        AdminRoute(.get, "/-/reload", .read, "JSON: how many reloads there were, and what became of the last") {
            $0.showReloads()
        },
        AdminRoute(
            .get, "/-/pins", .read, with: ["match", "service", "limit"],
            "JSON: the resources that are kept from eviction, and how much of the disk they take and may take"
        ) { try await $0.pins() },
        // An export contains what is stored for every client, and a recording one user's own content.
        AdminRoute(
            .get, "/-/export", .change, with: ["match", "service", "private"],
            "The stored responses that `match` selects as a tar archive ([its format](#exports))"
        ) { try $0.export() },
        AdminRoute(
            .get, "/-/explain", .read, with: ["url", "method", "header", "user"],
            "The reasons why a request is or is not answered from the cache, as JSON, or as text if `Accept` asks for it"
        ) { try await $0.explain() },
        AdminRoute(
            .get, "/-/resolve", .read, with: ["url", "child", "relative", "param"],
            "The URL that `child`, `relative` and `param` lead to, as the library's navigation does"
        ) { try $0.resolve() },
        AdminRoute(
            .get, "/-/events", .read, with: ["url", "match", "service", "content", "loadIfNeeded", "requests"],
            changesWith: "loadIfNeeded", "Server-Sent Events with JSON about one resource (`url`), or many"
        ) { try $0.events() },
        AdminRoute(.get, "/-/offline", .read, "JSON: whether origins are asked, by service") { $0.showOffline() },
        AdminRoute(.get, "/-/variables", .read, "JSON: the variables of the configuration, without their values") {
            $0.variables()
        },
        AdminRoute(
            .get, "/-/support", .change,
            "JSON: the `version` with its commit, the `settings` in force without secrets, and the last 50 warnings and "
                + "errors of the `log`"
        ) { try $0.support() },
        AdminRoute(.get, "/-/permission", .read, "JSON: whether this request has the permission for changes") {
            OwnResponse(json: ["mayChange": .bool($0.mayChange), "hasToken": .bool($0.hasToken)])
        },
        AdminRoute(.get, "/-/ca", .open, "JSON: the local CA, if there is one: fingerprint and dates") {
            $0.showAuthority()
        },
        AdminRoute(.get, "/-/ca.pem", .open, "Its certificate in PEM") { try $0.certificate() },
        AdminRoute(
            .get, "/-/lanes", .read,
            "JSON: the lanes of `larder run` with their counts, without the names that let clients in"
        ) { $0.lanes() },
        AdminRoute(.get, "/-/lanes/ID", .read, "One of them") { try $0.lane() },
        AdminRoute(.get, "/-/recordings", .read, "JSON: the names of what `larder run --record` recorded") {
            try await $0.recordings()
        },
        AdminRoute(.get, "/-/recordings/NAME", .change, "One of them as an HTTP Archive without secrets") {
            try await $0.recording()
        },
    ]

    private static let changing = [
        AdminRoute(
            .post, "/-/invalidate", .change, with: ["match", "service", "group", "origin"],
            "Marks the resources of `match` or `group` out of date, so that the next request asks the origin"
        ) { try await $0.invalidate() },
        AdminRoute(
            .post, "/-/wipe", .change, with: ["match", "service", "group", "origin", "caches", "pinned", "dryRun"],
            "Forgets the resources of `match` or `group`, in memory and on disk"
        ) { try await $0.wipe() },
        AdminRoute(.post, "/-/reload", .change, "Reads the configuration again, and says what became of it") {
            try await $0.reload()
        },
        AdminRoute(
            .put, "/-/resource", .change, with: ["url", "header", "for"],
            "Makes the content that is sent, with its `Content-Type`, what clients get, for as long as `for=10 min` says"
        ) { try $0.override() },
        AdminRoute(
            .post, "/-/resource/load", .change, with: ["url", "header"],
            "Asks the origin; `header` adds fields to the request"
        ) { try await $0.load(onlyIfNeeded: false) },
        AdminRoute(
            .post, "/-/resource/load-if-needed", .change, with: ["url", "header"],
            "Asks the origin unless what is stored is up to date"
        ) { try await $0.load(onlyIfNeeded: true) },
        AdminRoute(.post, "/-/resource/cancel", .change, with: ["url"], "Cancels the loads that are under way") {
            try await $0.cancelLoads()
        },
        AdminRoute(.post, "/-/resource/invalidate", .change, with: ["url"], "As `/-/invalidate`, for one resource") {
            try await $0.invalidateOne()
        },
        AdminRoute(
            .post, "/-/resource/wipe", .change, with: ["url", "caches", "pinned", "dryRun"],
            "As `/-/wipe`, for one resource; status 409 where it is pinned, without `pinned=true`"
        ) { try await $0.wipeOne() },
        AdminRoute(
            .post, "/-/pins", .change, with: ["match", "service"],
            "Keeps what is stored now from eviction; status 409 where pins would take more than half of `cache.disk`"
        ) { try await $0.pin() },
        AdminRoute(.delete, "/-/pins", .change, with: ["match", "service"], "Ends pins") { try await $0.unpin() },
        AdminRoute(
            .post, "/-/import", .change, with: ["private"], hasIntake: true,
            "Takes in an export of any length, as it comes"
        ) { try await $0.importArchive() },
        AdminRoute(
            .post, "/-/offline", .change, with: ["mode", "service"],
            "`mode` is `on`, `off`, `auto` or `configured`, until the daemon ends; `service` for one alone"
        ) { try $0.goOffline() },
        AdminRoute(.put, "/-/variables/NAME", .change, "Gives the variable the value that is sent") {
            try await $0.setVariable()
        },
        AdminRoute(
            .post, "/-/ca", .change, with: ["renew"],
            "Makes the local CA, or with `renew=true` another certificate of it"
        ) { try await $0.makeAuthority() },
        AdminRoute(.delete, "/-/ca", .change, "Removes the local CA with its key") { try await $0.removeAuthority() },
        AdminRoute(.delete, "/-/ca/refusals", .change, "Tries clients again that did not trust the local CA") {
            $0.forgetRefusals()
        },
        AdminRoute(
            .post, "/-/lanes", .lanes, with: ["name", "tunnel", "offline", "record", "replay", "door"],
            "Makes a lane, as `larder run` does; over the socket for lanes without `record` and `replay`"
        ) { try await $0.openLane() },
        AdminRoute(
            .delete, "/-/lanes/ID", .lanes, with: ["recording"],
            "Ends a lane and answers with its counts; with `recording=drop` what it recorded is not kept"
        ) { try await $0.closeLane() },
        AdminRoute(.put, "/-/recordings/NAME", .change, "Takes in an HTTP Archive (over TCP of up to 1 MiB)") {
            try await $0.importRecording()
        },
        AdminRoute(.delete, "/-/recordings/NAME", .change, "Removes a recording") { try await $0.removeRecording() },
    ]
}
