// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

/// `/-/versions`: the stored and the superseded responses for a URL, if its service has a `history`.
extension AdminCall {
    func versions() async throws -> OwnResponse {
        let subject = try proxy.subject(of: parameters.required("url"))
        try checkAccess(to: subject)
        let configuration = try configurationWithHistory(of: subject)
        let fields = try parameters.fields("header")
        let partition = partition(of: subject, fields)
        let versions = await versions(of: subject, fields, in: partition, configuration)
            .filter { isShown($0.variant, with: fields) }
        let now = proxy.now
        let showsFields = !configuration.mayTransform || mayChange
        return OwnResponse(json: [
            "url": .string(subject.url), "service": .string(subject.service.name),
            "history": .integer(configuration.history),
            "versions": .array(
                versions.map { AdminCall.json(of: $0, in: partition, at: now, showsFields: showsFields) }),
        ])
    }

    /// The response with that number. Where clients get something else than the origin sent, it is for those who may
    /// make changes.
    func version(
        _ number: String, of subject: ResourceSubject, _ fields: Fields
    ) async throws(Problem) -> Variant? {
        guard let number = Int64(number), number > 0 else {
            throw .badParameter(
                "‘version’ is ‘\(number.prefix(60))’; a number was expected.", advice: "/-/versions has the numbers.")
        }
        let configuration = try configurationWithHistory(of: subject)
        guard !configuration.mayTransform || mayChange else { throw .versionIsNotTransformed }
        let partition = partition(of: subject, fields)
        let variant = await versions(of: subject, fields, in: partition, configuration, readable: number)
            .first { $0.number == number }?.variant
        return variant.flatMap { isShown($0, with: fields) ? $0 : nil }
    }

    /// A response selected by a credential is for those who have it, or may make changes.
    private func isShown(_ variant: Variant, with fields: Fields) -> Bool {
        let variance = variant.stored.variance
        return !variance.isByCredential || variance.matches(fields) || mayChange
    }

    /// Versions of a resource that the configuration answers itself are for those who may make changes: clients do not
    /// get them.
    func checkAccess(to subject: ResourceSubject) throws(Problem) {
        let configuration = subject.service.configuration(for: subject.uri, method: subject.method)
        let answer = proxy.configuration.router.table.hardWiredAnswer(
            to: subject.uri, method: subject.method, of: subject.service, configuration)
        guard answer == nil || mayChange else { throw .isRefusedToClients }
    }

    /// That of those who have the fields.
    func partition(of subject: ResourceSubject, _ fields: Fields) -> Larder.Partition {
        subject.service.partition(of: fields, for: subject.uri, from: network)
    }

    /// Only the variants that the fields select, if there are any.
    private func versions(
        of subject: ResourceSubject, _ fields: Fields, in partition: Larder.Partition,
        _ configuration: EffectiveConfiguration, readable number: Int64? = nil
    ) async -> [ResponseVersion] {
        let versions =
            await proxy.diskTier?.versions(
                of: subject.key(in: partition).url, partition: partition, service: subject.service.name, configuration,
                readable: number) ?? []
        let selected = versions.filter { $0.variant.stored.variance.matches(fields) }
        return fields.isEmpty || selected.isEmpty ? versions : selected
    }

    private func configurationWithHistory(of subject: ResourceSubject) throws(Problem) -> EffectiveConfiguration {
        let configuration = subject.service.configuration(for: subject.uri, method: subject.method)
        guard configuration.history > 0, configuration.caches, proxy.diskTier != nil else {
            throw .noHistory(
                of: subject, isStored: configuration.caches && proxy.diskTier != nil,
                isService: subject.service.base != nil)
        }
        return configuration
    }

    private static func json(
        of version: ResponseVersion, in partition: Larder.Partition, at now: Timestamp, showsFields: Bool
    ) -> JSONValue {
        let isForOne = partition != .shared
        let stored = version.variant.stored
        var object: JSONObject = [
            "version": .integer(version.number), "isCurrent": .bool(version.isCurrent),
            "firstSeen": .time(version.since), "lastSeen": .time(version.lastSeen),
            "age": .integer(max(.zero, now - version.lastSeen).wholeSeconds),
            "status": .integer(stored.status.rawValue), "bytes": .integer(version.variant.content.length),
            "digest": .string(version.digest),
        ]
        for (name, field) in [("type", FieldName.contentType), ("eTag", .eTag), ("lastModified", .lastModified)] {
            if let value = stored.fields[field] { object[name] = .string(value) }
        }
        object["selectedBy"] = .strings(VariantReport(variant: version.variant, now: now, isForOne: isForOne).selectors)
        if showsFields { object["fields"] = ShownFields.lines(json: stored.fields, areForOne: isForOne) }
        return .object(object)
    }
}

extension Problem {
    fileprivate static func noHistory(of subject: ResourceSubject, isStored: Bool, isService: Bool) -> Problem {
        let name = subject.service.name
        let advice =
            !isStored
            ? "Nothing of it is stored on disk: see `cache.path`, and `cache: none` in its blocks."
            : isService
                ? "Add `history: 5` below `services.\(name):` in the configuration, and reload it."
                : "Add a service to the configuration: "
                    + "`services: { NAME: { baseURL: \(subject.uri.origin), history: 5 } }`, and reload it."
        return Problem(
            status: 409, title: "No history", proxyError: .proxyConfigurationError,
            detail: "The configuration keeps no earlier content of \(subject.url.prefix(500)).", advice: advice)
    }

    fileprivate static let isRefusedToClients = Problem(
        status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
        detail: "The configuration answers requests for this URL itself; what is stored is for those who may make "
            + "changes.",
        advice: permission)

    fileprivate static let versionIsNotTransformed = Problem(
        status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
        detail: "Clients get this resource transformed; what the origin sent is for those who may make changes.",
        advice: permission)

    private static let permission =
        "Use the `larder` command, which speaks over the Unix socket, or send `Authorization: Bearer <admin.token>`."
}
