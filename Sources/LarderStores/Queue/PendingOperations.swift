// SPDX-License-Identifier: Apache-2.0

/// Operations that were accepted and are not committed yet, by the hash of their key, in order for each hash.
struct PendingOperations {
    /// Almost always there is one for a key.
    private enum Entry {
        case one(Operation)
        case several([Operation])
    }

    private var entries: [UInt64: Entry] = [:]
    private(set) var count = 0

    /// The operations of a hash, in order.
    subscript(hash: UInt64) -> [Operation] {
        switch entries[hash] {
        case nil: []
        case .one(let operation): [operation]
        case .several(let operations): operations
        }
    }

    /// All operations, in order for each hash.
    var all: [Operation] { entries.keys.flatMap { self[$0] } }

    /// The operations that `isMeant` accepts, in order for each hash.
    func filter(_ isMeant: (Operation) -> Bool) -> [Operation] {
        var found: [Operation] = []
        for entry in entries.values {
            switch entry {
            case .one(let operation): if isMeant(operation) { found.append(operation) }
            case .several(let operations): found += operations.filter(isMeant)
            }
        }
        return found
    }

    mutating func append(_ operation: Operation) {
        let hash = operation.key.hash
        count += 1
        switch entries.updateValue(.one(operation), forKey: hash) {
        case nil: break
        case .one(let earlier): entries[hash] = .several([earlier, operation])
        case .several(var operations):
            operations.append(operation)
            entries[hash] = .several(operations)
        }
    }

    /// False if it is not here.
    mutating func remove(_ operation: Operation) -> Bool {
        let hash = operation.key.hash
        switch entries.removeValue(forKey: hash) {
        case nil: return false
        case .one(let only):
            guard only === operation else {
                entries[hash] = .one(only)
                return false
            }
        case .several(var operations):
            let place = operations.firstIndex { $0 === operation }
            if let place { operations.remove(at: place) }
            entries[hash] = operations.count == 1 ? .one(operations[0]) : .several(operations)
            guard place != nil else { return false }
        }
        count -= 1
        return true
    }
}
