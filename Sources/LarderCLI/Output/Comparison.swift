// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The exit status of commands that compare, as that of `diff`: 0 when both are equal, 1 when they differ, 2 when they
/// could not be compared.
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
