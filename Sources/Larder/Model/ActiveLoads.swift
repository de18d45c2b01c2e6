// SPDX-License-Identifier: Apache-2.0

/// The loads of a Resource that are under way, in the order of their beginning. Nearly always it is one, which needs no
/// array.
struct ActiveLoads: RandomAccessCollection {
    /// Nil only if there are no others.
    private var eldest: ActiveLoad?
    private var others: [ActiveLoad] = []

    var startIndex: Int { 0 }
    var endIndex: Int { eldest == nil ? 0 : others.count + 1 }

    subscript(index: Int) -> ActiveLoad {
        if index == 0, let eldest { return eldest }
        return others[index - 1]
    }

    func contains(_ load: ActiveLoad) -> Bool { contains { $0 === load } }

    mutating func append(_ load: ActiveLoad) {
        if eldest == nil { eldest = load } else { others.append(load) }
    }

    mutating func remove(_ load: ActiveLoad) {
        if load === eldest {
            eldest = others.isEmpty ? nil : others.removeFirst()
        } else {
            others.removeAll { $0 === load }
        }
    }
}
