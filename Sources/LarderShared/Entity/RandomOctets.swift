// SPDX-License-Identifier: Apache-2.0

extension [UInt8] {
    /// 16 random octets. The system is asked twice; it would be asked for each octet by itself.
    static func random16() -> [UInt8] {
        Swift.withUnsafeBytes(of: (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))) { Array($0) }
    }
}
