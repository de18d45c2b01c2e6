// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// Reads certificates and keys from their text form.
enum PEM {
    /// All certificates of `text`, at least one.
    static func certificates(_ text: String, _ operation: String) throws(IOError) -> [Certificate] {
        let source = try Source(text, operation)
        var all: [Certificate] = []
        while let certificate = PEM_read_bio_X509(source.bio, nil, noPassphrase, nil) {
            all.append(Certificate(certificate))
        }
        guard !all.isEmpty else { throw TLSFailure.setup(operation, "there is no certificate in PEM") }
        // The end of the text is reported as an error.
        ERR_clear_error()
        return all
    }

    static func privateKey(_ text: String, _ operation: String) throws(IOError) -> PrivateKey {
        let source = try Source(text, operation)
        guard let key = PEM_read_bio_PrivateKey(source.bio, nil, noPassphrase, nil) else {
            throw TLSFailure.setup(operation, "there is no private key in PEM without a passphrase")
        }
        return PrivateKey(key)
    }

    /// Without this, OpenSSL asks on the terminal.
    static let noPassphrase:
        @convention(c) (
            UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?
        ) -> Int32 = { _, _, _, _ in -1 }

    final class Certificate: Held {
        let pointer: OpaquePointer
        init(_ pointer: OpaquePointer) { self.pointer = pointer }
        deinit { X509_free(pointer) }
    }

    /// A pair of keys, or the public one alone.
    final class PrivateKey: Held {
        let pointer: OpaquePointer
        init(_ pointer: OpaquePointer) { self.pointer = pointer }
        deinit { EVP_PKEY_free(pointer) }
    }

    /// An owner of an OpenSSL object, which it frees in its `deinit`.
    protocol Held: AnyObject {
        var pointer: OpaquePointer { get }
    }

    /// The text, where OpenSSL reads it.
    private final class Source {
        let bio: OpaquePointer

        init(_ text: String, _ operation: String) throws(IOError) {
            let octets = Array(text.utf8)
            guard let bio = BIO_new(BIO_s_mem()) else { throw TLSFailure.setup(operation, "no memory") }
            self.bio = bio
            BIO_write(bio, octets, Int32(octets.count))
        }

        deinit { BIO_free(bio) }
    }
}

extension PEM.Held {
    /// Calls `body` with the pointer, and stays until it returns. The pointer alone keeps nothing: an object that is used for
    /// the last time to get it is released before the call that it is an argument of.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(pointer) }
    }
}
