// SPDX-License-Identifier: Apache-2.0
import LarderDaemon
import Synchronization

/// The command `larder` with a service whose models are kept in a store of the program's own.
@main
struct Cellar: DaemonProgram {
    var services: [any DaemonService] { [Wines(store: BottleRack())] }
}

struct Wines: DaemonService {
    let name = "wines"
    let baseURL = "https://wines.example/"
    let store: BottleRack

    func configure(_ service: Service) {
        service.configure("**") {
            $0.pipeline.add(.json)
            // Each request that goes to the origin gets a number of its own.
            $0.mutateRequests { $0.fields["X-Request-Number"] = "\(UInt32.random(in: 1...UInt32.max))" }
        }
        service.configure("/bottles/*") { $0.pipeline[.parsing].cacheUsing(store) }
    }
}

/// A store in memory that counts; one's own would be a table of a database, say. It has few verbs, and calls for one key
/// come one after the other.
final class BottleRack: EntityCache {
    private let bottles = Mutex<[CacheSubject: Entity<JSONValue>]>([:])

    func key(for subject: CacheSubject) -> CacheSubject? { subject }

    func readEntity(for key: CacheSubject) -> Entity<JSONValue>? { bottles.withLock { $0[key] } }

    func writeEntity(_ entity: Entity<JSONValue>, for key: CacheSubject) {
        let count = bottles.withLock { bottles in
            bottles[key] = entity
            return bottles.count
        }
        print("\(count) in the rack")
    }

    func removeEntity(for key: CacheSubject) { bottles.withLock { $0[key] = nil } }
}
