// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO
import LarderSettings

/// Checks certificates and keys by performing the daemon's start-up steps, and reports failures in the daemon's words.
extension ConfiguredFiles {
    mutating func checkTLS(_ settings: Settings) {
        let tls = settings.tls
        if !tls.listen.isEmpty, let certificate = tls.certificate, let key = tls.key {
            let first = TLSIdentityFiles(certificate: certificate, key: key)
            let isGood = check([(certificate, "tls.certificate"), (key, "tls.key")]) { () throws(IOError) in
                _ = try TLSServerContext(identities: [first], clientAuthorityFile: nil)
            }
            if isGood, let authorities = tls.clientCA {
                check([(authorities, "tls.clientCA")]) { () throws(IOError) in
                    _ = try TLSServerContext(identities: [first], clientAuthorityFile: authorities)
                }
            }
            for other in tls.certificates {
                let files = [other.certificate, other.key].map { ($0, "tls.certificates") }
                check(files) { () throws(IOError) in
                    _ = try TLSServerContext(identities: [other], clientAuthorityFile: nil)
                }
            }
        }
        check(authorities: settings.upstream.caFile, "upstream.caFile")
        check(authorities: settings.sharedCache.caFile, "sharedCache.tls.caFile")
        for service in settings.services {
            let setting = "services.\(service.name).tls"
            check(authorities: service.tls.caFile, setting + ".caFile")
            guard let certificate = service.tls.certificate, let key = service.tls.key else { continue }
            check([(certificate, setting + ".certificate"), (key, setting + ".key")]) { () throws(IOError) in
                _ = try TLSClientContext(trustsSystem: false, certificateFile: certificate, keyFile: key)
            }
        }
    }

    private mutating func check(authorities path: String?, _ setting: String) {
        guard let path else { return }
        check([(path, setting)]) { () throws(IOError) in
            _ = try TLSClientContext(trustsSystem: false, authorityFiles: [path])
        }
    }

    /// False if `make` fails. The problem is reported for the file whose path begins the error's detail.
    @discardableResult
    private mutating func check(
        _ files: [(path: String, setting: String)], _ make: () throws(IOError) -> Void
    ) -> Bool {
        // Missing files have been reported, and the daemon may be able to read files that this user cannot.
        guard files.allSatisfy({ access($0.path, R_OK) == 0 }) else { return true }
        do throws(IOError) {
            try make()
            return true
        } catch {
            // The last one: the certificate may have been named as the key too.
            let file = files.last { error.detail.hasPrefix($0.path + " ") } ?? files[0]
            noteUnusable(file.path, file.setting, "cannot \(error.operation): \(error.detail)")
            return false
        }
    }
}
