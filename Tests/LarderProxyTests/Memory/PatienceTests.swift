// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderProxy

@Suite("Patience with slow readers")
struct PatienceTests {
    private static let second: Int64 = 1_000_000_000

    /// How long a reader at a pace holds back the others until it is given up, in seconds; nil if it reads on.
    ///
    /// - Parameter window: the octets that it takes between two waits.
    private func held(by patience: inout Patience, at pace: Int64, window: Int64 = 256 << 10) -> Int64? {
        let time = window * Self.second / pace
        for number in 0..<Int64(40_000) {
            if time > patience.wait {
                let held = (number * time + patience.wait) / Self.second
                patience.waited(patience.wait, for: 0)
                patience.gaveUp()
                return held
            }
            patience.waited(time, for: window)
        }
        return nil
    }

    @Test(arguments: [(1, 61), (4 << 10, 61), (64 << 10, 82), (128 << 10, 122), (200 << 10, 276)])
    func `a slow reader holds back others for as long as its pace is too slow by the limit`(pace: Int64, most: Int64) {
        var patience = Patience(60 * Self.second)
        let held = held(by: &patience, at: pace)
        #expect(held.map { $0 >= 60 && $0 <= most } == true, "\(held ?? -1) s")
    }

    @Test(arguments: [1 << 10, 8 << 10, 16 << 10, 64 << 10])
    func `small windows and small chunks make no slow reader quick`(window: Int64) {
        var patience = Patience(60 * Self.second)
        let held = held(by: &patience, at: 107 << 10, window: window)
        #expect(held.map { $0 <= 120 } == true, "\(held ?? -1) s")
    }

    @Test func `a reader that is late now and then is forgiven once the late one has left`() {
        var patience = Patience(60 * Self.second)
        for _ in 0..<70 {
            patience.waited(patience.wait, for: 0)
            patience.gaveUp()
        }
        patience.waited(Self.second * 7 / 4, for: 0)
        #expect(patience.wait <= Self.second / 4 + 1 && !patience.isOver)
        patience.forgive()
        #expect(patience.wait >= Self.second)
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

    @Test func `all who take nothing hold back the others for less than twice the limit, and two seconds each`() {
        var patience = Patience(60 * Self.second)
        var held: Int64 = 0
        for _ in 0..<100 {
            held += patience.wait
            patience.waited(patience.wait, for: 0)
            patience.gaveUp()
            // The others go on quickly meanwhile: what was given up once does not come back.
            patience.waited(Self.second / 10, for: 10 << 20)
        }
        #expect(held < (120 + 200) * Self.second)
        patience.restore()
        #expect(patience.wait == 2 * Self.second)
    }
}
