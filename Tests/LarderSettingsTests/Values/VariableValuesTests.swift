// SPDX-License-Identifier: Apache-2.0

import LarderSettings
import Testing

@Suite("Values of variables")
struct VariableValuesTests {
    @Test func `what variables come to tells all combinations apart`() {
        let one = VariableValues(["a": .init("b"), "c": .init("d")])
        let two = VariableValues(["a": .init("b1:c1:d")])
        #expect(one.octets(of: ["a", "c"]) != two.octets(of: ["a", "c"]))
        #expect(one.octets(of: ["x"]) == nil)
    }
}
