// SPDX-License-Identifier: Apache-2.0

/// The places of a configuration that have settings, for keys that are written in another one.
package enum SettingLevel {
    case top, service, block
    /// The key is the name of a service, without `services` above it.
    case services

    /// A clause that follows "which belongs".
    var place: String {
        switch self {
        case .top: "at the top of the file"
        case .service: "in a service, under `services`"
        case .block: "in a block of a service's `configure`"
        case .services: "under `services`"
        }
    }

    func advice(for key: String) -> String {
        switch self {
        case .top: "move it to the first column"
        case .service: "write `services: { NAME: { \(key): … } }`"
        case .block: "write `services: { NAME: { configure: [ { \(key): … } ] } }`"
        case .services: "write `services: { \(key): { … } }`"
        }
    }
}
