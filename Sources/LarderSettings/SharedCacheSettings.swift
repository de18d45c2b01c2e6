// SPDX-License-Identifier: Apache-2.0

/// The engine that daemons share what they have stored through.
package struct SharedCacheSettings: Sendable {
    /// Nil for none.
    package var url: EngineURL?
    package var username: String?
    package var password: Secret?
    /// Separates teams that use one engine.
    package var namespace = "larder"
    /// The secret that the daemons of a team have in common and nobody else has.
    package var key: Secret?
    /// For each question to the engine.
    package var timeout = Duration.milliseconds(20)
    /// Longer content is not shared.
    package var maxObject = ByteCount.mebibytes(8)
    package var share = SharedCacheChoice.unclaimed
    /// PEM certificates trusted beside the system's, for `rediss`.
    package var caFile: String?
}

/// The responses that are shared.
package enum SharedCacheChoice: String, Sendable, CaseIterable {
    /// Of URLs that no service claims.
    case unclaimed
    case services
    case all
}
