// SPDX-License-Identifier: Apache-2.0

/// The settings of the engine through which daemons share stored responses.
package struct SharedCacheSettings: Sendable {
    /// Nil for none.
    package var url: EngineURL?
    package var username: String?
    package var password: Secret?
    /// Separates teams that use one engine.
    package var namespace = "larder"
    /// The secret that only the daemons of a team have.
    package var key: Secret?
    /// The time limit of each request to the engine.
    package var timeout = Duration.milliseconds(20)
    /// Longer content is not shared.
    package var maxObject = ByteCount.mebibytes(8)
    package var share = SharedCacheChoice.unclaimed
    /// PEM certificates trusted beside the system's, for `rediss`.
    package var caFile: String?
}

/// The responses that are shared.
package enum SharedCacheChoice: String, Sendable, CaseIterable {
    /// URLs that no service claims.
    case unclaimed
    case services
    case all
}
