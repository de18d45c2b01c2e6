// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderIO
import LarderProxy

/// The resource that `url` names, in every partition and, for a URL of an origin, in each service that may
/// have stored something for it.
struct OneResource {
    private let subjects: [ResourceSubject]
    private let proxy: Proxy
    private let walkers: WorkerPool
    /// True if it is left as it is where it is pinned.
    private let sparesPins: Bool

    /// - Throws: `Problem` if `url` is not the URL of a resource, or if the resource is to be spared.
    init(
        _ parameters: AdminParameters, _ proxy: Proxy, _ walkers: WorkerPool, sparesPins: Bool = false
    ) throws(Problem) {
        subjects = try proxy.subjects(of: parameters.required("url"))
        (self.proxy, self.walkers, self.sparesPins) = (proxy, walkers, sparesPins)
        if sparesPins, let pinned = subjects.first(where: { proxy.isPinned($0, in: .shared) }) {
            throw .pinned(pinned.url)
        }
    }

    // Holds: the subject that was named is one of them.
    var url: String { subjects[0].url }

    /// Requires validation before each use; counts variants.
    func invalidate() async throws -> Int {
        var count = 0
        for subject in subjects {
            count += try await proxy.invalidate(subject) + elsewhere(subject).invalidate().most
        }
        return count
    }

    /// Empties it, and the store unless `keepsStored`; counts variants.
    func wipe(keepsStored: Bool) async throws -> ManyResources.Counts {
        var counts = ManyResources.Counts()
        for subject in subjects {
            let others = try await elsewhere(subject).wipe(keepsStored: keepsStored)
            counts.memory += await proxy.wipe(subject, keepsStored: keepsStored) + others.most
            counts.pinned += others.pinned
            if !keepsStored, !sparesPins { await proxy.unpin(subject) }
        }
        return counts
    }

    /// Cancels the loads under way; counts them.
    func cancelLoads() async throws -> Int {
        var count = 0
        for subject in subjects {
            count += proxy.cancelLoads(of: subject) + (try await elsewhere(subject).cancelLoads())
        }
        return count
    }

    /// All that is known of it, in the service that a client of the URL reaches or else the first that has a state;
    /// `alsoIn` names the others. nil when there is no state.
    func details() async throws -> JSONValue? {
        var shown: JSONObject?
        var others: [String] = []
        for subject in subjects {
            let details = try await ResourceDetails(subject: subject, proxy: proxy, walkers: walkers).json()
            guard let details = details?.object else { continue }
            if shown == nil { shown = details } else { others.append(subject.service.name) }
        }
        if !others.isEmpty { shown?["alsoIn"] = .strings(others) }
        return shown.map { .object($0) }
    }

    /// The number of services and partitions with a state.
    func partCount() async throws -> Int {
        var count = 0
        for subject in subjects {
            count += try await ResourceDetails(subject: subject, proxy: proxy, walkers: walkers).partCount()
        }
        return count
    }

    /// The same URL in other partitions, and for content that is part of a key.
    private func elsewhere(_ subject: ResourceSubject) -> ManyResources {
        ManyResources(proxy: proxy, selection: .partitions(subject), walkers: walkers, sparesPins: sparesPins)
    }
}
