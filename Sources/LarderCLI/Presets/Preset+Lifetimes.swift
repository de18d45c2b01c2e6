// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderSettings

extension Preset {
    /// Warnings about each `expirationTime` that is never used, because the origin of the service names the lifetime of
    /// every response, as the origins of some presets do.
    static func unusedLifetimes(_ settings: Settings, _ reader: SettingsReader) -> [SettingsProblem] {
        let hosts = Set(all.flatMap(\.namesLifetimes))
        return settings.services.filter { hosts.contains($0.baseURL.target.host) }.flatMap { service in
            service.configure.enumerated().compactMap { index, block in
                guard let time = block.expirationTime?.time, block.expirationMode == nil,
                    let url = block.pattern.example(of: service), service.expirationMode(of: url) == .fallback
                else { return nil }
                let setting = "services.\(service.name).configure[\(index)].expirationTime"
                let (written, host) = (UnitText.write(time), service.baseURL.target.host)
                return SettingsProblem(
                    at: reader.place(of: setting), setting: setting,
                    found: "\(SettingsProblem.quoted(written)) where \(host) names a lifetime itself",
                    suggestion: "keepFor: \(written)",
                    advice: "`expirationTime` without a `mode` is used only where the origin names no lifetime")
            }
        }
    }
}

extension ServiceSettings {
    /// The mode that the blocks of the service set for GET of `url`.
    fileprivate func expirationMode(of url: ResourceURL) -> Configuration.ExpirationMode {
        let base = baseURL.target
        let modes = configure.filter { block in
            block.methods?.contains(.get) ?? true && block.pattern.predicate(relativeTo: base)(url)
        }
        return modes.compactMap(\.expirationMode).last ?? .fallback
    }
}

extension BlockPattern {
    /// A URL of the service that the pattern is for; nil where the pattern does not show one.
    fileprivate func example(of service: ServiceSettings) -> ResourceURL? {
        let base = service.baseURL.target
        guard regex == nil else { return nil }
        if let url { return ResourceURL(url) }
        let path = (match?.text ?? "/").replacing("*", with: "x").replacing("?", with: "x")
        if path.contains("://") { return ResourceURL(path) }
        return ResourceURL(String(base.string.prefix { $0 != "?" }) + path.trimmingPrefix("/"))
    }
}
