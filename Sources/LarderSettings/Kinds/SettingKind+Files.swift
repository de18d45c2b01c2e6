// SPDX-License-Identifier: Apache-2.0

extension SettingKind where Value == FileMode {
    /// The mode of a socket: its owner always has access, and execution is meaningless.
    static var fileMode: SettingKind {
        .text(
            "file mode", expected: "a mode in octal from `0600` to `0666`, as `0660`", bounds: "0600 … 0666",
            show: { .text($0.text) },
            parse: { scalar in
                let digits = scalar.text.hasPrefix("0o") ? scalar.text.dropFirst(2) : scalar.text[...]
                guard (3...4).contains(digits.utf8.count), let bits = UInt32(digits, radix: 8), bits & ~0o666 == 0,
                    bits & 0o600 == 0o600
                else {
                    return .failure(TextRefusal(advice: "6 lets owner, group or others use the socket, 0 does not"))
                }
                return .success(FileMode(bits))
            })
    }
}

extension SettingKind where Value == FileLocation {
    /// The location of the database: its directory, with or without a slash at the end, or the database file. Each form
    /// is read as the path of the file.
    static var database: SettingKind {
        let name = "larder.db"
        let location = SettingKind.location()
        return .text(
            "path", expected: "the absolute path of a directory, or `none`", show: location.show,
            parse: { scalar in
                var path = scalar.text
                if path == "none" { return .success(FileLocation.none) }
                while path.hasSuffix("/"), path.utf8.count > 1 { path.removeLast() }
                if let refusal = FileLocation.refusal(ofPath: path) { return .failure(refusal) }
                if path.hasSuffix("/" + name) { return .success(.path(path)) }
                if path.hasSuffix(".db"), !scalar.text.hasSuffix("/") {
                    let directory = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
                    return .failure(
                        TextRefusal(
                            suggestion: directory.isEmpty ? nil : String(directory),
                            advice: "the database is always called `\(name)`: name the directory that is to be Larder's"
                        ))
                }
                return .success(.path(path == "/" ? "/" + name : path + "/" + name))
            })
    }
}
