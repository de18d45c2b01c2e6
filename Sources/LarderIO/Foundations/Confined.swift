// SPDX-License-Identifier: Apache-2.0

/// A value that belongs to one loop, passed through code in which the compiler cannot see that it stays there.
///
/// Make and open it on that loop only; in between it may be kept anywhere.
// @unchecked: it is opened on the loop that made it.
package struct Confined<Value>: @unchecked Sendable {
    package let value: Value

    package init(_ value: Value) { self.value = value }
}
