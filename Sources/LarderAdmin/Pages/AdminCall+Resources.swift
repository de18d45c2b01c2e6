// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules
import LarderSettings
import LarderStores
import LarderUpstream

/// The pages that show or change resources.
extension AdminCall {
    func invalidate() async throws -> OwnResponse {
        let many = ManyResources(proxy: proxy, selection: try selection(), walkers: walkers)
        let counts = try await many.invalidate()
        try await reachDisk()
        var answer: JSONObject = ["invalidated": counts.json]
        if counts.most == 0 { answer["unchanged"] = .integer(try await many.count().most) }
        return OwnResponse(json: .object(answer))
    }

    func wipe() async throws -> OwnResponse {
        let keepsStored = try parameters.choice("caches", of: ["remove", "keep"], default: "remove") == "keep"
        let many = ManyResources(
            proxy: proxy, selection: try selection(), walkers: walkers,
            sparesPins: try !keepsStored && !parameters.flag("pinned"))
        if try parameters.flag("dryRun") { return OwnResponse(json: ["wouldWipe": try await many.count().json]) }
        let counts = try await many.wipe(keepsStored: keepsStored)
        if !keepsStored { try await reachDisk() }
        return OwnResponse(json: ["wiped": counts.json])
    }

    func invalidateOne() async throws -> OwnResponse {
        let resource = try OneResource(parameters, proxy, walkers)
        let count = try await resource.invalidate()
        try await reachDisk()
        var answer: JSONObject = ["url": .string(resource.url), "invalidated": .integer(count)]
        if count == 0 { answer["unchanged"] = .integer(try await resource.partCount()) }
        return OwnResponse(json: .object(answer))
    }

    func wipeOne() async throws -> OwnResponse {
        let keepsStored = try parameters.choice("caches", of: ["remove", "keep"], default: "remove") == "keep"
        let resource = try OneResource(
            parameters, proxy, walkers, sparesPins: !keepsStored && !parameters.flag("pinned"))
        if try parameters.flag("dryRun") {
            let count = try await resource.partCount()
            return OwnResponse(json: ["url": .string(resource.url), "wouldWipe": .integer(count)])
        }
        let counts = try await resource.wipe(keepsStored: keepsStored)
        if !keepsStored { try await reachDisk() }
        var answer: JSONObject = ["url": .string(resource.url), "wiped": .integer(counts.most)]
        if counts.pinned > 0 { answer["pinned"] = .integer(counts.pinned) }
        return OwnResponse(json: .object(answer))
    }

    func cancelLoads() async throws -> OwnResponse {
        let resource = try OneResource(parameters, proxy, walkers)
        let count = try await resource.cancelLoads()
        return OwnResponse(json: ["url": .string(resource.url), "cancelled": .integer(count)])
    }

    /// - Throws: a problem where a change of what is stored counts, but a restart would undo it.
    private func reachDisk() async throws(Problem) {
        guard let store = proxy.diskTier?.store, await !store.reachDisk() else { return }
        throw .notOnDisk
    }

    func resources() async throws -> OwnResponse {
        if request.parameter("url") != nil {
            let resource = try OneResource(AdminParameters(request, known: ["url"]), proxy, walkers)
            guard let details = try await resource.details() else { throw Problem.unknownResource(resource.url) }
            return OwnResponse(json: details)
        }
        let limit = try parameters.number("limit", in: 1...10_000, default: 1_000)
        if parameters.text("sort") != nil || parameters.text("state") != nil {
            return try await sortedResources(limit: limit)
        }
        let cursor = try parameters.text("after").map { text throws(Problem) -> ResourceList.Cursor in
            guard let cursor = ResourceList.Cursor(text) else {
                throw .badParameter(
                    "‘after’ is not where a page ended.", advice: "Use the value of ‘next’ from the page before.")
            }
            return cursor
        }
        let filter = try filter()
        var page = try await ResourceList(proxy: proxy, filter: filter, walkers: walkers).page(
            after: cursor, limit: limit)
        await ResourceLine.complete(&page.lines, proxy)
        var answer = JSONObject()
        if let next = page.next {
            answer["next"] = .string(next.text)
            // The total is known only where nothing has to be compared.
            if filter.matchesAll {
                answer["total"] = .integer(
                    max(page.lines.count, proxy.registry.count, proxy.diskTier?.store.statistics.entries ?? 0))
            }
        } else if cursor == nil {
            answer["total"] = .integer(page.lines.count)
        }
        return try await listing(page.lines, answer)
    }

    /// Writes lines and further fields on a background thread: other clients of the loop would wait for ten thousand
    /// lines.
    private func listing(_ lines: [ResourceLine], _ others: JSONObject) async throws -> OwnResponse {
        let now = proxy.now
        return try await walkers.run {
            var answer: JSONObject = ["resources": .array(lines.map { $0.json(at: now) })]
            for name in others.names { answer[name] = others[name] }
            return OwnResponse(json: .object(answer))
        }
    }

    /// The first ones by `sort`, of those in `state`.
    private func sortedResources(limit: Int) async throws -> OwnResponse {
        guard parameters.text("after") == nil else {
            throw Problem.badParameter("‘after’ goes on in no order.", advice: "Raise ‘limit’ instead, up to 10000.")
        }
        let orders = SortedResources.Order.allCases.map(\.rawValue)
        let order = try parameters.choice("sort", of: orders, default: "url")
        let states = SortedResources.states
        let state = try parameters.choice("state", of: states.keys.sorted() + ["any"], default: "any")
        let filter = try filter()
        let now = proxy.now
        var page = try await SortedResources(
            list: ResourceList(proxy: proxy, filter: filter, walkers: walkers),
            order: SortedResources.Order(rawValue: order) ?? .url, states: states[state], now: now
        ).page(limit: limit)
        await ResourceLine.complete(&page.lines, proxy)
        return try await listing(
            page.lines, ["total": .integer(page.total), "isComplete": .bool(page.isComplete)])
    }

    /// The selection in `match` or `group`; one of them is required.
    private func selection() throws -> ResourceSelection {
        guard let group = try parameters.group() else {
            _ = try parameters.required("match")
            return .matching(try filter())
        }
        for name in ["match", "service"] where parameters.text(name) != nil {
            throw Problem.badParameter("‘group’ and ‘\(name)’ exclude each other.", advice: "Leave one of them out.")
        }
        return group
    }

    /// The selection in `match` and `service`.
    func filter() throws -> ResourceFilter {
        let table = proxy.configuration.router.table
        let service = parameters.text("service")
        if let service, service != table.unclaimed.name, table.named(service)?.name != service {
            throw Problem.unknownService(service, known: table.services.map(\.name) + [table.unclaimed.name])
        }
        return ResourceFilter(try parameters.pattern("match"), service: service, table: table)
    }

    func load(onlyIfNeeded: Bool) async throws -> OwnResponse {
        let subject = try proxy.subject(of: parameters.required("url"))
        var fields = try parameters.fields("header")
        if !fields.contains(.accept) { fields.append(.accept, "*/*") }
        if !fields.contains(.userAgent) { fields.append(.userAgent, "larder/\(LarderVersion.current)") }
        let outcome: LoadOutcome
        do {
            outcome = try await proxy.load(subject, fields: fields, onlyIfNeeded: onlyIfNeeded, from: network)
        } catch let problem as Problem {
            throw problem
        } catch {
            throw Problem(upstream: error, place: subject.uri.authority)
        }
        let now = proxy.now
        var answer: JSONObject = ["url": .string(subject.url)]
        switch outcome {
        case .upToDate(let variant):
            answer["result"] = "up to date; the origin was not asked"
            answer["resource"] = VariantReport(variant: variant, now: now).json
        case .validated(let variant):
            answer["result"] = "validated: the origin says it has not changed"
            answer["resource"] = VariantReport(variant: variant, now: now).json
        case .loaded(let status, let length, let isStored):
            answer["result"] = .string(
                isStored ? "loaded and stored" : "loaded, but not stored: `larder explain` says why")
            answer["status"] = .integer(status.rawValue)
            answer["bytes"] = .integer(length)
        }
        return OwnResponse(json: .object(answer))
    }
}

extension ManyResources.Counts {
    fileprivate var json: JSONValue {
        pinned == 0
            ? ["memory": .integer(memory), "disk": .integer(disk)]
            : ["memory": .integer(memory), "disk": .integer(disk), "pinned": .integer(pinned)]
    }
}

extension Problem {
    static func pinned(_ url: String) -> Problem {
        Problem(
            status: 409, title: "Pinned", proxyError: .proxyInternalResponse,
            detail: "\(url.prefix(500)) is pinned, so nothing was wiped.",
            advice: "Wipe it with `--pinned` (in a request to the daemon `pinned=true`), or unpin it first.")
    }

    static let notOnDisk = Problem(
        status: 503, title: "Not on disk", proxyError: .proxyInternalError,
        detail: "This counts from now on, but the disk cannot be written: a restart before it can would undo it.",
        advice: "`larder status` says why. Repeat this when the disk can be written.")

    static func unknownResource(_ url: String) -> Problem {
        Problem(
            status: 404, title: "Nothing stored", proxyError: .httpRequestError,
            detail: "Nothing is stored or being loaded for \(url.prefix(500)).",
            advice: "`larder explain` says what a request would do, `larder load` asks the origin.")
    }
}
