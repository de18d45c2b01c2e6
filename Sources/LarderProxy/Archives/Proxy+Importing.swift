// SPDX-License-Identifier: Apache-2.0

import Larder
package import LarderHTTP
import LarderIO
import LarderRules
import LarderStores

/// Why an entity of an archive is not taken.
package struct ImportRefusal: Error, CustomStringConvertible {
    package let description: String

    static let formerUser = ImportRefusal(
        description: "it belongs to a former user of its service, who had other credentials")
    static let unread = ImportRefusal(description: "what is stored in its place here cannot be read at the moment")
}

/// An entity that is being taken from an archive: nothing of it can be seen before `finish`.
package final class ImportedEntity: Sendable {
    /// By which an entity is found again.
    package struct Receipt: Sendable {
        let key: EntityKey
        let variant: [UInt8]
        let responseTime: Timestamp
    }

    private let proxy: Proxy
    private let key: ResourceKey
    /// That of the archive, where it means somebody here.
    private let owner: String
    private let receipt: Receipt
    private let writer: EntityWriter

    fileprivate init(proxy: Proxy, key: ResourceKey, owner: String, receipt: Receipt, writer: EntityWriter) {
        self.proxy = proxy
        self.key = key
        self.owner = owner
        self.receipt = receipt
        self.writer = writer
    }

    /// Adds content, and waits while the disk is behind. False when the store does not take it.
    package func append(_ chunk: ContentChunk) async -> Bool {
        while proxy.diskTier?.isBehind == true, case .open = writer.state {
            await Alarms.shared.sleep(for: .milliseconds(2))
        }
        writer.append(chunk)
        return obstacle == nil
    }

    /// Stores it in place of what is there; what is in memory is read from the store the next time. Nil when what has
    /// come there since it began is as new.
    ///
    /// - Throws: `ImportRefusal` when it is not stored.
    package func finish() async throws -> Receipt? {
        guard isOfUserOfNow else {
            writer.abort()
            throw ImportRefusal.formerUser
        }
        if try await proxy.keeps(receipt, of: key) {
            writer.abort()
            return nil
        }
        guard writer.finish() else { throw ImportRefusal(description: obstacle ?? "the disk does not take it") }
        if let resource = proxy.registry.resource(for: key) {
            proxy.wipe(resource, isInvalidation: true)
        }
        return receipt
    }

    package func abort() { writer.abort() }

    /// The service's user may have changed since it began.
    private var isOfUserOfNow: Bool {
        owner.isEmpty || proxy.configuration.router.table.numbered(key.serviceNumber)?.owner == owner
    }

    /// Why the store takes no more of it.
    package var obstacle: String? {
        guard isOfUserOfNow else { return ImportRefusal.formerUser.description }
        guard case .abandoned(let reason) = writer.state else { return nil }
        return switch reason {
        case .tooLarge: "it is larger than the store takes: more than `cache.maxObject`, or an eighth of `cache.disk`"
        default: "the disk does not take it; `larder status` says more"
        }
    }
}

extension Proxy {
    /// How far ahead another machine's clock may be.
    private static let leeway = Duration.seconds(3600)

    /// Begins to store an entity of an archive as if it had been fetched here, under the configuration that its URL has
    /// here; nil when what is stored already is as new, or an operator's own.
    ///
    /// - Parameter isFromHere: true if this installation exported it, so that its partition and owner are known here.
    package func beginImport(_ entity: ArchivedEntity, isFromHere: Bool) async throws -> ImportedEntity? {
        guard let diskTier else { throw ImportRefusal(description: "nothing is kept on disk here") }
        let subject: ResourceSubject
        do throws(Problem) {
            subject = try self.subject(of: entity.url)
        } catch {
            throw ImportRefusal(description: error.detail)
        }
        guard subject.url == entity.url else {
            throw ImportRefusal(description: "it is stored as \(subject.url.prefix(500)) here")
        }
        guard entity.requestTime <= entity.responseTime, entity.responseTime <= now + Proxy.leeway else {
            throw ImportRefusal(description: "it was received in the future, by the clock of this machine")
        }
        let service = subject.service
        let partition = Larder.Partition(entity.partition)
        let configuration = service.configuration(for: subject.uri, method: subject.method, in: partition)
        if isFromHere {
            // Archives of earlier versions do not say whose they are.
            let isNobodys = entity.owner.isEmpty && entity.personalReason(under: configuration) == nil
            guard isNobodys || entity.owner == service.owner else { throw ImportRefusal.formerUser }
        } else if !entity.partition.isEmpty {
            throw ImportRefusal(description: "it belongs to a user of another installation")
        }
        guard configuration.caches, configuration.storesReceived else {
            throw ImportRefusal(description: "the configuration of ‘\(service.name)’ keeps nothing of it on disk")
        }
        guard entity.length <= diskTier.maxObject else {
            throw ImportRefusal(description: "it is larger than `cache.maxObject`")
        }
        let stored = try entity.stored(at: subject.uri, under: configuration.policy)
        let key = subject.key(in: partition)
        let resource = service.makeResource(key: key, partition: partition, url: subject.uri)
        let receipt = ImportedEntity.Receipt(
            key: diskTier.key(of: resource, service), variant: StoredResponseCoding.variantKey(stored.variance),
            responseTime: entity.responseTime)
        if try await keeps(receipt, of: key) { return nil }
        let writer = diskTier.begin(stored, of: resource, service: service, length: entity.length, configuration)
        return ImportedEntity(
            proxy: self, key: key, owner: isFromHere ? entity.owner : "", receipt: receipt, writer: writer)
    }

    /// True if what is in an entity's place already is as new, or an operator's own.
    fileprivate func keeps(_ receipt: ImportedEntity.Receipt, of key: ResourceKey) async throws(ImportRefusal) -> Bool {
        if let memory = registry.resource(for: key)?.memory {
            if memory.isOverridden { return true }
            let isInMemory = memory.snapshot.variants.contains {
                $0.stored.responseTime >= receipt.responseTime
                    && StoredResponseCoding.variantKey($0.stored.variance) == receipt.variant
            }
            if isInMemory { return true }
        }
        return try await isStored(receipt)
    }

    /// True if an entity, or a newer one in its place, is in the store.
    package func isStored(_ receipt: ImportedEntity.Receipt) async throws(ImportRefusal) -> Bool {
        guard let diskTier else { return false }
        guard let records = try? await diskTier.store.read(receipt.key) else { throw .unread }
        return records.contains { $0.variant == receipt.variant && $0.responseTime >= receipt.responseTime }
    }
}

extension ArchivedEntity {
    /// The response as it would be stored if an origin had sent it now, under another configuration perhaps.
    fileprivate func stored(at target: TargetURI, under policy: CachePolicy) throws -> StoredResponse {
        var request = RequestHead(method: method, target: "/")
        for selector in selectors {
            guard let value = selector.value else { continue }
            value.withUnsafeBytes { request.fields.append(selector.name, bytes: $0) }
        }
        // Its value is not exported.
        if wasAuthorized, !request.fields.contains(.authorization) { request.fields.append(.authorization, "?") }
        let response = ResponseHead(status: status, fields: fields)
        let decision = Storability.decide(
            request: request, target: target, response: response, policy: policy, responseTime: responseTime)
        switch decision {
        case .store(_, .durable): break
        case .store(_, .memory):
            throw ImportRefusal(description: "the configuration here keeps errors like it in memory alone")
        case .doNotStore(let condition):
            throw ImportRefusal(description: "the configuration here does not store it (\(condition.rawValue))")
        }
        var traces = policy.traces(of: request.fields)
        traces.remove(.anyCredential)
        if wasAuthorized { traces.insert(.authorization) }
        if wasPersonal || hasTraces { traces.insert(.credentialBesideKey) }
        if hadCredentials { traces.insert(.anyCredential) }
        return StoredResponse(
            requestMethod: method, traces: traces, variance: policy.variance(of: fields, to: request.fields),
            status: status, fields: fields,
            requestTime: requestTime, responseTime: responseTime, contentLength: length, standing: standing,
            policy: policy)
    }
}
