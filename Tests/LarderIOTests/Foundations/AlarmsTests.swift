// SPDX-License-Identifier: Apache-2.0
import LarderTesting
import Testing

@testable import LarderIO

@Suite("Alarms of the process")
struct AlarmsTests {
    @Test func `one that is due before all others does not wait for them`() async throws {
        let alarms = Alarms()
        let called = Recorder<Int>()
        let late = alarms.schedule(after: .seconds(3_600)) { called(1) }
        await alarms.sleep(for: .milliseconds(1))
        #expect(called.count == 0)
        #expect(alarms.count == 1)
        late.cancel()
        #expect(alarms.count == 0)
    }

    @Test func `one that was cancelled is not called, and may be cancelled again`() async throws {
        let alarms = Alarms()
        let called = Recorder<Int>()
        // Far enough that no machine is too slow to cancel it before.
        let alarm = alarms.schedule(after: .seconds(3_600)) { called(1) }
        alarm.cancel()
        #expect(alarms.count == 0)
        await alarms.sleep(for: .milliseconds(1))
        alarm.cancel()
        #expect(called.count == 0)
    }

    @Test func `thousands from many tasks are all called`() async throws {
        let alarms = Alarms()
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<20 {
                group.addTask {
                    for number in 0..<200 { await alarms.sleep(for: .microseconds((task * number) % 50)) }
                }
            }
        }
        #expect(alarms.count == 0)
    }
}
