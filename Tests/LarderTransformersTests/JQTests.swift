// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import Testing

@testable import LarderTransformers

/// One after the other: each holds up a thread that others need while its program runs.
@Suite("jq", .serialized)
struct JQTests {
    private static func program(_ text: String, timeout: Duration = .seconds(60)) throws -> JQProgram {
        try JQProgram(text, timeout: timeout)
    }

    private func fixture(
        _ program: String, timeout: Duration = .seconds(60), _ change: (inout TransformerOptions) -> Void = { _ in }
    ) throws -> Fixture {
        var options = TransformerOptions()
        change(&options)
        return Fixture(Transformers.jq(try JQTests.program(program, timeout: timeout), options))
    }

    @Test func `TR-02 jq makes other JSON of octets`() async throws {
        let fixture = try fixture("{login, name, company}")
        let transformed = await fixture.transform(
            #"{"id":1,"login":"octocat","name":"The Octocat","company":null,"blog":"x"}"#)
        #expect(transformed.text == #"{"login":"octocat","name":"The Octocat","company":null}"#)
        #expect(transformed.response.entity?.json?["login"] == "octocat")
        #expect(transformed.fields?[.contentType] == "application/json")
        #expect(transformed.fields?[.eTag] == nil)
    }

    @Test func `one process answers one value after the other`() async throws {
        let fixture = try fixture(".n + 1")
        for n in 0..<20 { #expect(await fixture.transform(#"{"n":\#(n)}"#).text == "\(n + 1)") }
    }

    @Test(arguments: [
        (".a | debug", "1"), (".a | stderr", "1"), ("[.a, inputs]", "[1]"), ("try input catch 2", "2"),
        ("input_filename", "null"), ("$ENV.HOME", "null"),
    ])
    func `what reads and writes elsewhere finds nothing there`(program: String, result: String) async throws {
        let fixture = try fixture(program)
        for _ in 0..<2 { #expect(await fixture.transform(#"{"a":1}"#).text == result) }
    }

    @Test func `many values at a time wait for each other`() async throws {
        let fixture = try fixture("[limit(.; repeat(1))] | add")
        await withTaskGroup(of: String?.self) { group in
            for _ in 0..<12 { group.addTask { await fixture.transform("1000").text } }
            for await text in group { #expect(text == "1000") }
        }
    }

    @Test(arguments: [
        (".[", "syntax error"), ("nonsense", "nonsense/0 is not defined"), ("import \"m\" as m; .", "module not found"),
    ])
    func `a program that is wrong is refused in jq's words`(_ program: String, _ words: String) {
        do throws(JQFailure) {
            _ = try JQProgram(program)
            Issue.record("it was accepted")
        } catch {
            guard case .program(let message) = error.reason else {
                Issue.record("\(error)")
                return
            }
            #expect(message.contains(words))
            #expect(!message.contains("\n"))
        }
    }

    @Test(arguments: [
        (".a", "[1]", "Cannot index array with string \"a\""), ("error(\"no\")", "{}", "no"),
        (".", "not JSON", "Invalid"), (".", " ", "Expected JSON value"), (".[]", "[1,2]", "more than one result"),
        ("halt", "1", "the program halted"), (".[0], error(\"late\")", "[1]", "late"),
    ])
    func `TR-04 what jq cannot do is an error that names stage and transformer`(
        _ program: String, _ content: String, _ words: String
    ) async throws {
        let error = try await fixture(program).transform(content).error
        #expect(error?.stage == .model)
        #expect(error?.transformer == "jq")
        guard case .content(let message) = (error?.cause as? JQFailure)?.reason else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(message.contains(words))
        #expect(error?.entity?.typedContent() == Array(content.utf8))
    }

    @Test func `TR-04 no result is the error for nothing returned`() async throws {
        #expect(try await fixture("empty").transform("1").error?.cause is TransformerReturnedNil)
    }

    @Test func `a program that does not end is stopped, and the next value is answered`() async throws {
        let fixture = try fixture("if . == 0 then last(repeat(1)) else . end", timeout: .milliseconds(300))
        let error = await fixture.transform("0").error
        #expect((error?.cause as? JQFailure)?.reason == .timedOut(.milliseconds(300)))
        #expect(error?.stage == .model)
        #expect(error?.transformer == "jq")
        // A new process has to compile the program, for which it has more time than for a value.
        #expect(await fixture.transform("2").text == "2")
    }

    @Test func `a program that takes all memory ends its own process only`() async throws {
        let fixture = try fixture("if . == 0 then reduce range(40) as $i (\"xxxxxxxx\"; . + .) else . end")
        guard case .ended = (await fixture.transform("0").error?.cause as? JQFailure)?.reason else {
            Issue.record("it did not end")
            return
        }
        #expect(await fixture.transform("3").text == "3")
    }

    @Test func `what comes out is bounded`() async throws {
        let fixture = try fixture("\"x\" * .") { $0.sizeLimit = 1_000 }
        #expect(await fixture.transform("900").text?.utf8.count == 902)
        #expect((await fixture.transform("100000").error?.cause as? JQFailure)?.reason == .tooLarge(limit: 1_000))
        #expect(await fixture.transform("1").text == "\"x\"")
    }

    @Test func `jq takes what json and text made, and the coding of octets is undone`() async throws {
        let program = try JQTests.program(".a")
        let parsed = Fixture {
            $0.pipeline.add(.json)
            $0.pipeline[.model].add(Transformers.jq(program, TransformerOptions()))
        }
        #expect(await parsed.transform(#"{"a":"ä"}"#).text == "\"ä\"")
        #expect(await parsed.transform(#"{"a":1}"#, type: "text/plain").text == "1")
        let coded = try await Fixture(Transformers.jq(program, TransformerOptions())).transform(
            LarderTransformersTests.gzip(#"{"a":[2]}"#), 200, type: "application/json", [.contentEncoding: "gzip"])
        #expect(coded.text == "[2]")
        #expect(coded.fields?[.contentEncoding] == nil)
    }

    @Test func `TR-08 errors are transformed when asked for`() async throws {
        let fixture = try fixture(".error") { $0.transformErrors = true }
        let transformed = await fixture.transform(#"{"error":{"code":7}}"#, 404)
        #expect(transformed.text == #"{"code":7}"#)
        #expect(transformed.error?.status == 404)
        #expect(await fixture.transform("no JSON", 404).text == "no JSON")
    }
}
