// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Larder

@Suite("Lists of observers")
struct ObserverListTests {
    private final class Owner: Sendable {}

    private func add(_ name: Int, to list: inout ObserverList, owner: Owner) {
        _ = list.add(
            ClosureObserver { _, _, _ in }, as: ObserverIdentity(name), owner: ObserverList.owner(owner), since: 0)
    }

    @Test(arguments: [1_000, 10_000])
    func `OB-06 removing each of many owners looks at its observers alone`(count: Int) {
        let owners = (0..<count).map { _ in Owner() }
        var list = ObserverList()
        for (name, owner) in owners.enumerated() { add(name, to: &list, owner: owner) }
        for owner in owners { #expect(list.removeOwner(owner).observers.count == 1) }
        #expect(list.isEmpty)
        #expect(list.examined == count)
    }

    @Test func `OB-07 an observer is found by each of its owners, and by none that was removed`() {
        let (first, second) = (Owner(), Owner())
        var list = ObserverList()
        for name in 0..<3 { add(name, to: &list, owner: first) }
        add(1, to: &list, owner: second)
        #expect(list.removeOwner(first).observers.count == 2)
        #expect(list.removeOwner(first).observers.isEmpty)
        add(1, to: &list, owner: first)
        #expect(list.removeOwner(second).observers.isEmpty)
        #expect(list.removeOwner(first).observers.count == 1)
        #expect(list.isEmpty && list.owners.isEmpty)
    }
}
