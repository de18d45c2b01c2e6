// SPDX-License-Identifier: Apache-2.0

/// Whether origins are asked.
package enum OfflineMode: String, Sendable, CaseIterable {
    /// As the rules of HTTP require.
    case off
    /// Never: clients get stored responses, whatever their age, else 504.
    case on
    /// As `on` while the origin is unreachable, else as `off`.
    case auto
}
