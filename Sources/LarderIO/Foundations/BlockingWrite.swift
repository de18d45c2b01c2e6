// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Writing to files, pipes and terminals that may have the caller wait.
package enum BlockingWrite {
    /// Writes all bytes, in as many calls as needed. Returns the error number of the failure, or nil.
    package static func failure(of octets: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32? {
        var rest = octets
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            // Nothing and no error: that is what a full device may say.
            guard count > 0 else { return count < 0 ? errno : ENOSPC }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return nil
    }

    /// Writes all bytes of a sequence. Returns the error number of the failure, or nil.
    package static func failure(of octets: some Sequence<UInt8>, to descriptor: Int32) -> Int32? {
        let whole = octets.withContiguousStorageIfAvailable { failure(of: UnsafeRawBufferPointer($0), to: descriptor) }
        return whole ?? Array(octets).withUnsafeBytes { failure(of: $0, to: descriptor) }
    }
}
