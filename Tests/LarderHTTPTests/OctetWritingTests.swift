// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderHTTP

@Suite("Text as octets")
struct OctetWritingTests {
    @Test(arguments: [0, 9, 10, 1_234_567_890, UInt64.max])
    func `numbers are written in decimal`(_ number: UInt64) {
        var output: [UInt8] = [0x2E]
        output.append(decimal: number)
        #expect(String(latin1: output) == ".\(number)")
    }

    @Test(arguments: [0, -1, -15, .max, .min] as [Int64])
    func `numbers with a sign are written in decimal`(_ number: Int64) {
        var output: [UInt8] = [0x2E]
        output.append(decimal: number)
        #expect(String(latin1: output) == ".\(number)")
    }

    @Test func `text is written behind what is there`() {
        var output: [UInt8] = []
        output.append("Via: " as StaticString)
        output.append("caché" as String)
        #expect(String(decoding: output, as: UTF8.self) == "Via: caché")
    }
}
