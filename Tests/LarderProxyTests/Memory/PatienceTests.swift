// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderProxy

@Suite("Patience with slow readers")
struct PatienceTests {
    private static let second: Int64 = 1_000_000_000
    private static let window: Int64 = 256 << 10

    /// How long a reader at a pace holds back the others until it is given up, in seconds; nil if it reads 10 GiB.
    private func held(by patience: inout Patience, at pace: Int64) -> Int64? {
        let time = Self.window * Self.second / pace
        for number in 0..<Int64(40_000) {
            if time > patience.wait {
                let held = (number * time + patience.wait) / Self.second
                patience.waited(patience.wait, for: 0)
                patience.gaveUp()
                return held
            }
            patience.waited(time, for: Self.window)
        }
        return nil
    }

    @Test(arguments: [(1, 61), (4 << 10, 61), (64 << 10, 82), (128 << 10, 122), (200 << 10, 276)])
    func `a slow reader holds back others for as long as its pace is too slow by the limit`(pace: Int64, most: Int64) {
        var patience = Patience(60 * Self.second)
        let held = held(by: &patience, at: pace)
        #expect(held.map { $0 >= 60 && $0 <= most } == true, "\(held ?? -1) s")
    }

    @Test(arguments: [256 << 10, 1 << 20, 20 << 20])
    func `a reader at the pace is never given up, whatever the others did before`(pace: Int64) {
        var patience = Patience(60 * Self.second)
        for _ in 0..<70 {
            patience.waited(patience.wait, for: 0)
            patience.gaveUp()
        }
        #expect(held(by: &patience, at: pace) == nil)
    }

    @Test func `all who take nothing hold back the others for less than twice the limit, and a second each`() {
        var patience = Patience(60 * Self.second)
        var held: Int64 = 0
        for _ in 0..<100 {
            held += patience.wait
            patience.waited(patience.wait, for: 0)
            patience.gaveUp()
            // The others go on quickly meanwhile: what was given up once does not come back.
            patience.waited(Self.second / 10, for: 10 << 20)
        }
        #expect(held < (120 + 100) * Self.second)
        patience.restore()
        #expect(patience.wait < Self.second + Self.second / 1000)
    }
}
