// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Groups of users.
enum UserGroup {
    /// The groups of this process.
    static var own: Set<UInt32> {
        var groups = [gid_t](repeating: 0, count: max(0, Int(getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return Set(groups.prefix(max(0, Int(count))) + [getegid()])
    }

    /// The group whose members may write to a file; nil where there is none but root's.
    static func writing(to path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IWGRP != 0, status.st_gid != 0 else { return nil }
        guard let entry = getgrgid(status.st_gid), let name = entry.pointee.gr_name else { return nil }
        return String(cString: name)
    }

    static func number(_ name: String) throws -> UInt32 {
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        if getgrnam_r(name, &entry, &buffer, buffer.count, &found) == 0, let found { return found.pointee.gr_gid }
        if let number = UInt32(name) { return number }
        throw CommandFailure("there is no group '\(name)'", advice: "make it, or change `admin.socketGroup`")
    }
}
