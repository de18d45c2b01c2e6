// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Decides if a directory may become a store's. A directory that holds directories of something else is probably a
/// mistake, as `/usr/lib` is. Files may be there, as logs are.
package enum StorePlace {
    /// A directory in `path` that is not Larder's; nil if there is none, or `path` cannot be read.
    ///
    /// A directory with a tag or a database is Larder's, in any state: the store judges the tag and the database.
    package static func stranger(in path: String) -> String? {
        guard let directory = try? Directory(path) else { return nil }
        let names = directory.names
        if names.contains(StoreDirectory.tagName) || names.contains(StoreDirectory.databaseName) { return nil }
        return names.filter { !isExpected($0) && isDirectory("\(path)/\($0)") }.min()
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The words for a directory that is refused.
    package static func refusal(of path: String, for stranger: String) -> StoreError {
        StoreError(
            code: .unusableDirectory,
            message:
                "\(path) is not a directory of Larder's: \(stranger) is in it. Name one that is empty, or is not "
                + "there yet (cache.path), as \(path)/larder.")
    }

    /// True if Larder makes files of this name, or if directories without content have them. Hidden files do not count
    /// as content: the home of a user for Larder alone may have some.
    private static func isExpected(_ name: String) -> Bool {
        name.hasPrefix("larder") || name.hasPrefix(".") || name.hasPrefix(ContentFiles.discardedPrefix)
            || [
                "content", "spool", SegmentFiles.folderName, "identity.key", "credentials", "ca.key", "ca.pem",
                "recordings",
                "lost+found", "CACHEDIR.TAG",
            ].contains(name)
    }
}
