// SPDX-License-Identifier: Apache-2.0
import LarderRules
import Testing

@Suite("What models say they used")
struct ModelUsageTests {
    func usage(_ text: String) -> ModelUsage? { Array(text.utf8).withUnsafeBytes { ModelUsage(in: $0) } }

    @Test(arguments: [
        #"{"model":"m-1","usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}"#,
        #"{"usage" : { "input_tokens" : 100, "details": {"cached": 5}, "output_tokens":20 }, "model" : "m-1"}"#,
        """
        data: {"model":"m-1","usage":null}

        data: {"model":"m-1","usage":{"prompt_tokens":100,"completion_tokens":20}}

        data: [DONE]
        """,
        """
        event: message_start
        data: {"message":{"model":"m-1","usage":{"input_tokens":100,"output_tokens":1}}}

        event: message_delta
        data: {"usage":{"output_tokens":20}}
        """,
    ]) func `is read from answers and from streams`(text: String) {
        #expect(usage(text) == ModelUsage(model: "m-1", input: 100, output: 20))
    }

    @Test(arguments: [
        "", "{}", #"{"usage":{}}"#, #"{"usage":"#, #"{"usage":{"prompt_tokens":"#, #"{"usage":{"prompt_tokens":1}}"#,
        #"{"model":"m","usage":{"prompt_tokens":"x"}}"#, #"{"model":"","usage":{"prompt_tokens":1}}"#,
        #"{"model":"m","usage":{"prompt_tokens":1234567890123}}"#,
    ]) func `is nothing in what does not say it`(text: String) { #expect(usage(text) == nil) }

    /// Objects that do not end would be looked through to the end of the text, again and again.
    @Test func `is looked for in time that grows as the text does`() {
        func time(_ octets: Int) -> Int64 {
            let text = String(repeating: "\"usage\":{", count: octets / 9)
            let start = threadTime()
            #expect(usage(text) == nil)
            return threadTime() - start
        }
        // Eight times as long: not sixty-four times as much.
        #expect(time(256 << 10) < 24 * max(time(32 << 10), 100_000))
    }
}
