// SPDX-License-Identifier: Apache-2.0

package import Larder

/// The rule by which origins are asked.
package enum OfflineMode: String, Sendable, CaseIterable {
    /// Origins are asked as HTTP requires.
    case off
    /// Origins are never asked: clients get stored responses of any age, else 504.
    case on
    /// `on` while the origin is unreachable, else `off`.
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
