// SPDX-License-Identifier: Apache-2.0

import Glibc
package import Larder
import LarderHTTP
import LarderSettings

extension Proxy {
    /// Has stored responses with a schedule looked at: after a start, and by a new configuration.
    func scheduleStored() {
        guard configuration.router.table.all.contains(where: \.hasSchedule) else { return }
        try? anyContext().execute { context in
            context.spawn { await context.proxy.ahead.considerStored(on: context) }
        }
    }

    /// Someone begins to observe a resource.
    func observationBegan(of resource: Resource) {
        guard let service = configuration.router.table.numbered(resource.key.serviceNumber),
            service.configuration(for: resource).refreshAhead == .watched,
            let target = AheadTarget(resource, service)
        else { return }
        try? anyContext().execute { $0.proxy.ahead.consider(target, in: .seconds(1), on: $0) }
    }
}

extension RoutedService {
    /// True if some of its resources are refreshed at set times.
    var hasSchedule: Bool { settings.configure.contains { $0.refreshAhead?.isScheduled == true } }
}

extension RefreshAhead {
    package var isScheduled: Bool {
        switch self {
        case .every, .daily: true
        case .off, .watched, .popular: false
        }
    }

    package var isDaily: Bool {
        if case .daily = self { true } else { false }
    }
}

/// The time of day of this machine.
enum LocalTime {
    /// How many seconds it is ahead of UTC at an instant.
    static func offset(at now: Timestamp) -> Int64 {
        var seconds = time_t(now.seconds)
        var parts = tm()
        guard localtime_r(&seconds, &parts) != nil else { return 0 }
        return Int64(parts.tm_gmtoff)
    }
}
