// SPDX-License-Identifier: Apache-2.0

/// Keys that other proxies have, and what does the same here.
enum ForeignNames {
    private static let meant: [String: [String]] = [
        "port": ["listen"], "bind": ["listen"], "address": ["listen"], "cache.dir": ["cache.path"],
        "cache.directory": ["cache.path"], "cache.size": ["cache.disk"], "cache.maxsize": ["cache.disk"],
        "upstream.proxy": ["upstream.parent"], "proxy": ["parent", "upstream.parent"], "ttl": [block],
        "maxage": [block], "expires": [block],
    ]

    /// A setting of blocks, wherever it is asked for.
    static let block = "expirationTime"

    /// The name for `key`, with the maps that it is in, if `names` has it.
    static func name(for key: String, among names: [String]) -> String? {
        let plain = key.lowercased().filter { $0 != "_" && $0 != "-" }
        return meant[plain]?.first { names.contains($0) || $0 == block }
    }
}
