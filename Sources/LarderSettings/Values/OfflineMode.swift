// SPDX-License-Identifier: Apache-2.0

package import Larder

/// Whether origins are asked.
package enum OfflineMode: String, Sendable, CaseIterable {
    /// As the rules of HTTP require.
    case off
    /// Never: clients get stored responses, whatever their age, else 504.
    case on
    /// As `on` while the origin is unreachable, else as `off`.
    case auto
}

extension Configuration {
    /// `isOffline`, and whether unreachable origins make it so.
    package var offline: OfflineMode {
        get { isOffline ? .on : isOfflineWhenUnreachable ? .auto : .off }
        set {
            isOffline = newValue == .on
            isOfflineWhenUnreachable = newValue == .auto
        }
    }
}
