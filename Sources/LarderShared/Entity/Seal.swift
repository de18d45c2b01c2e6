// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import LarderStores

/// HMAC-SHA256 by the key that the team's daemons have in common. Each kind of message is sealed for its own purpose,
/// so that a message of one kind is never accepted as another kind.
// @unchecked: the context is only copied after `init`, which does not change it.
package final class Seal: @unchecked Sendable {
    package static let length = 32
    private let keyed: OpaquePointer

    /// - Parameter secret: of any length that is not 0; at least 32 random bytes are as good as it gets.
    package init(secret: [UInt8]) {
        // Other uses of the secret reveal nothing about this key. The number is raised when older and newer daemons
        // could not read each other's invalidations: then they share nothing.
        let key = ContentDigest(of: Array("larder shared tier 2\0".utf8) + secret).bytes
        let algorithm = EVP_MAC_fetch(nil, "HMAC", nil)
        defer { EVP_MAC_free(algorithm) }
        let name = Array("digest".utf8CString)
        var digest = Array("SHA256".utf8CString)
        let context = EVP_MAC_CTX_new(algorithm)
        // A parameter has the addresses of both texts, not copies.
        let isReady = name.withUnsafeBufferPointer { name in
            digest.withUnsafeMutableBufferPointer { digest in
                let parameters = [
                    OSSL_PARAM_construct_utf8_string(name.baseAddress, digest.baseAddress, 0),
                    OSSL_PARAM_construct_end(),
                ]
                return EVP_MAC_init(context, key, key.count, parameters) == 1
            }
        }
        // Unreachable: without HMAC there would be no TLS either.
        guard isReady, let context else { preconditionFailure("OpenSSL offers no HMAC") }
        keyed = context
    }

    deinit { EVP_MAC_CTX_free(keyed) }

    package func code(for octets: [UInt8], as purpose: Purpose) -> [UInt8] {
        // Unreachable: a copy fails only without memory, which ends the process everywhere.
        guard let context = EVP_MAC_CTX_dup(keyed) else { preconditionFailure("no memory") }
        defer { EVP_MAC_CTX_free(context) }
        var purpose = purpose.rawValue
        EVP_MAC_update(context, &purpose, 1)
        EVP_MAC_update(context, octets, octets.count)
        var code = [UInt8](repeating: 0, count: Seal.length)
        var count = 0
        EVP_MAC_final(context, &code, &count, code.count)
        return code
    }

    package func verifies(_ code: [UInt8], for octets: [UInt8], as purpose: Purpose) -> Bool {
        let right = self.code(for: octets, as: purpose)
        return code.count == right.count && CRYPTO_memcmp(code, right, right.count) == 0
    }

    package enum Purpose: UInt8, Sendable {
        case entity = 1
        case message = 2
        case owner = 3
    }
}

extension [UInt8] {
    /// 16 random bytes. Two integers cost two system calls; 16 single bytes would cost 16.
    static func random16() -> [UInt8] {
        Swift.withUnsafeBytes(of: (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))) { Array($0) }
    }
}
