// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Exit statuses of commands that compare, like the statuses of `diff`: 0 for equal, 1 for different, 2 for a failed
/// comparison.
enum Comparison {
    /// - Parameter isEqual: prints the difference; false if there is one.
    static func run(_ isEqual: () throws -> Bool) throws {
        let result: Bool
        do {
            result = try isEqual()
        } catch let failure as CommandFailure {
            Terminal.writeError("larder: \(failure)")
            throw ExitCode(2)
        }
        if !result { throw ExitCode(1) }
    }
}
