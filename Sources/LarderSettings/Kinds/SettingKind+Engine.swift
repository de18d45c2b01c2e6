// SPDX-License-Identifier: Apache-2.0

extension SettingKind where Value == EngineURL {
    static var engine: SettingKind {
        .text(
            "URL",
            expected: "`redis://host:6379`, `rediss://…` for TLS, `redis+cluster://a:6379,b:6379`, or `unix:/path`",
            isSecret: true, show: { .text($0.description) },
            parse: { scalar in
                if let url = EngineURL(scalar.text) { return .success(url) }
                if scalar.text.contains("@") {
                    return .failure(
                        TextRefusal(
                            found: "a URL with a user name",
                            advice: "use `sharedCache.username` and `sharedCache.password`"))
                }
                return .failure(TextRefusal())
            })
    }
}
