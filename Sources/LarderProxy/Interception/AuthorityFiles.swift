// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO

/// The local authority in two files beside the store: the public certificate, and the daemon's private key.
package struct AuthorityFiles: Sendable {
    static let certificateName = "ca.pem"
    static let keyName = "ca.key"
    private static let sizeLimit = 64 << 10

    let directory: String

    package init(directory: String) { self.directory = directory }

    struct Failure: Error, CustomStringConvertible {
        let path: String
        let reason: String

        var description: String { "cannot use \(path): \(reason)" }
    }

    /// The host's name, for the name of the authority.
    var machine: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "this machine" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private var certificatePath: String { directory + "/" + AuthorityFiles.certificateName }
    private var keyPath: String { directory + "/" + AuthorityFiles.keyName }

    /// The current authority; nil if none was created. If other users could have read or written the key, they may have
    /// a copy: the key is refused, and not used to sign.
    func load() throws -> LocalAuthority? {
        guard let key = try read(keyPath, isSecret: true), let certificate = try read(certificatePath, isSecret: false)
        else { return nil }
        do {
            return try LocalAuthority(
                certificate: String(decoding: certificate, as: UTF8.self),
                privateKey: String(decoding: key, as: UTF8.self))
        } catch {
            throw Failure(path: keyPath, reason: "\(error); remove both files to have a new CA made")
        }
    }

    /// Replaces the saved authority. The certificate is written last, and does not outlive its key: a key without one is not
    /// an authority, and a renewed certificate matches both keys.
    func save(_ authority: LocalAuthority) throws {
        if try read(keyPath, isSecret: true) != authority.keyFile { unlink(certificatePath) }
        try write(authority.keyFile, to: keyPath, mode: 0o600)
        try write(Array(authority.pem.utf8), to: certificatePath, mode: 0o644)
    }

    func remove() throws {
        for path in [keyPath, certificatePath] where unlink(path) != 0 && errno != ENOENT {
            throw Failure(path: path, reason: String(cString: strerror(errno)))
        }
    }

    private func read(_ path: String, isSecret: Bool) throws -> [UInt8]? {
        let file: (octets: [UInt8], status: stat)
        do throws(BoundedFile.Failure) {
            file = try BoundedFile.readWithStatus(path, limit: AuthorityFiles.sizeLimit, .own)
        } catch {
            if error == .missing { return nil }
            throw Failure(path: path, reason: "\(error)")
        }
        if isSecret, file.status.st_mode & 0o077 != 0 || file.status.st_uid != geteuid() {
            throw Failure(
                path: path,
                reason: "others may read it, or it is somebody else's; remove it to have a new CA made")
        }
        return file.octets
    }

    private func write(_ octets: [UInt8], to path: String, mode: mode_t) throws {
        do throws(IOError) {
            try FileDraft.write(octets, to: path, draft: path + ".new", mode: mode)
        } catch {
            throw Failure(path: path, reason: String(cString: strerror(error.errno)))
        }
    }
}
