// SPDX-License-Identifier: Apache-2.0

import Foundation
import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

@testable import LarderCLI

/// One after the other: each holds up a thread that others need while its program runs.
@Suite("Settings of transformers", .serialized)
struct TransformerSettingsTests {
    /// The blocks of a service, each without its dash.
    private static func yaml(_ blocks: [String], service: String = "") -> String {
        let items = blocks.map { block in
            block.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
                .map { ($0.offset == 0 ? "      - " : "        ") + $0.element }.joined(separator: "\n")
        }
        return "services:\n  a:\n    baseURL: http://a.test/\n\(service)    configure:\n"
            + items.joined(separator: "\n")
            + "\n"
    }

    /// The response that the blocks make of another.
    private func transform(
        _ blocks: String..., service: String = "", content: String, status: Status = 200,
        type: String = "application/json"
    ) async throws -> TransformedResponse {
        let fixture = try ConfigurationFixture(TransformerSettingsTests.yaml(blocks, service: service))
        let settings = try #require(try fixture.settings().services.first)
        var configuration = Configuration()
        settings.addStandardTransformers(to: &configuration)
        for block in settings.configure { block.apply(to: &configuration) }
        let model = Service(
            "a", baseURL: "http://a.test/", standardTransformers: [], transport: StubTransport(),
            defaults: configuration, clock: ManualClock())
        let resource = model.resource("x")
        let entity = Entity(
            content: Array(content.utf8), fields: [.contentType: type], status: status,
            timestamp: Timestamp(seconds: 1_000))
        return await resource.transform(resource.configuration) { entity }
    }

    private func text(_ transformed: TransformedResponse) throws -> String {
        String(decoding: try transformed.served.get().content, as: UTF8.self)
    }

    /// The value that tells responses under the block from those under another.
    private func fingerprint(_ block: String) throws -> UInt64 {
        let fixture = try ConfigurationFixture(TransformerSettingsTests.yaml([block]))
        let settings = try #require(try fixture.settings().services.first)
        var configuration = Configuration()
        for block in settings.configure { block.apply(to: &configuration) }
        let model = Service(
            "a", baseURL: "http://a.test/", standardTransformers: [], transport: StubTransport(),
            defaults: configuration, clock: ManualClock())
        return model.resource("x").frozenConfiguration(for: .get).fingerprint
    }

    @Test func `whatever a pipeline depends on is in its fingerprint, and nothing else`() throws {
        let blocks = [
            "retryTime: 1 s", "pipeline: { model: [ { jq: .a } ] }", "pipeline: { model: [ { jq: .b } ] }",
            "pipeline: { cleanup: [ { jq: .a } ] }", "pipeline: { model: [ { jsonPointer: { select: /a } } ] }",
            "pipeline: { model: [ { jsonPointer: { select: /b } } ] }",
            "pipeline: { model: [ { jq: .a, transformErrors: true } ] }", "pipeline: { parsing: json }",
            "pipeline: { model: [ { successIfStatus: [404] } ] }",
            "pipeline: { model: [ { successIfStatus: [410] } ] }",
        ]
        var known: [UInt64: String] = [:]
        for block in blocks {
            let number = try fingerprint(block)
            #expect(try fingerprint("retryTime: 2 s\n" + block.replacing("retryTime: 1 s", with: "")) == number)
            #expect(known.updateValue(block, forKey: number) == nil, "\(block)")
        }
        #expect(known[0] == "retryTime: 1 s")
    }

    // MARK: What is written takes effect

    @Test func `TR-05 stages are lists, single transformers or maps, and later blocks add to them`() async throws {
        let transformed = try await transform(
            "pipeline: { parsing: json, model: [ { jq: .a } ] }", "pipeline: { model: { add: { jq: .b } } }",
            content: #"{"a":{"b":1}}"#)
        #expect(try text(transformed) == "1")
        let replaced = try await transform(
            "pipeline: { model: [ { jq: .a } ] }", "pipeline: { model: { clear: true, add: [ { jq: .c } ] } }",
            content: #"{"c":3}"#)
        #expect(try text(replaced) == "3")
    }

    @Test(arguments: ["clear", "removeAllTransformers"])
    func `PL-08 a later block takes everything away`(_ word: String) async throws {
        let transformed = try await transform(
            "pipeline: { model: [ { jq: .a } ] }", "pipeline: { \(word): true }", content: #"{ "a": 1 }"#)
        #expect(try text(transformed) == #"{ "a": 1 }"#)
    }

    @Test func `PL-02 TR-06 stages run in the order given, those of one's own too`() async throws {
        let transformed = try await transform(
            "pipeline: { mine: [ { jq: '. + [2]' } ], order: [parsing, model, mine], model: [ { jq: '[., 1]' } ], parsing: text }",
            "pipeline: { mine: [ { jq: '. + [3]' } ] }", content: "0")
        #expect(try text(transformed) == "[0,1,2,3]")
    }

    @Test(arguments: [("raw", #"{ "a": [7] }"#), ("parsing", #"{"a":[7]}"#), ("model", "[7]"), ("final", "7")])
    func `what is served can be chosen`(_ serve: String, _ expected: String) async throws {
        let transformed = try await transform(
            "pipeline: { parsing: json, model: { jq: .a }, cleanup: { jq: '.[0]' } }\nserve: \(serve)",
            content: #"{ "a": [7] }"#)
        #expect(try text(transformed) == expected)
        #expect(transformed.response.entity?.json == 7)
    }

    @Test func `TR-03 TR-08 TR-09 options say for which content, other types and errors`() async throws {
        let block = """
            pipeline:
              parsing: [json, { use: text, onMismatch: skip }]
              model:
                - { jq: length, contentTypes: application/json, transformErrors: true }
                - { jq: ., onMismatch: skip, contentTypes: ["audio/*"] }
            """
        #expect(try text(try await transform(block, content: "[1,2]")) == "2")
        #expect(try text(try await transform(block, content: "[1,2,3]", status: 404)) == "3")
        #expect(try text(try await transform(block, content: "{\"x\":1}", type: "text/json")) == #"{"x":1}"#)
        #expect(try text(try await transform(block, content: "x", type: "image/png")) == "x")
    }

    @Test func `TR-10 a service has standard transformers when it asks for them`() async throws {
        let content = #"{ "a": 1 }"#
        #expect(try text(try await transform("retryTime: 1 s", content: content)) == content)
        let service = "    standardTransformers: [json, text]\n"
        #expect(try text(try await transform("retryTime: 1 s", service: service, content: content)) == #"{"a":1}"#)
        // text/json is of both types: the first one counts.
        let both = try await transform("retryTime: 1 s", service: service, content: content, type: "text/json")
        #expect(try text(both) == #"{"a":1}"#)
    }

    @Test func `TR-13 TR-14 messages, statuses, types and fields`() async throws {
        let block = """
            pipeline:
              parsing: [json, { requireType: json }]
              cleanup:
                - successIfStatus: 410
                - errorMessageFrom: /error
                - headers: { X-Served: "yes", Content-Language: null }
            """
        let failed = try await transform(block, content: #"{"error":"Gone fishing"}"#, status: 404)
        guard case .failure(let error) = failed.response else {
            Issue.record("it was taken for a success")
            return
        }
        #expect(error.userMessage == "Gone fishing")
        #expect(try failed.served.get().field("X-Served") == "yes")
        #expect(try await transform(block, content: "{}", status: 410).response.entity?.status == 410)
        guard case .failure(let wrong) = try await transform(block, content: "x", type: "text/plain").response else {
            Issue.record("the type was not required")
            return
        }
        #expect(wrong.stage == .parsing)
        #expect(wrong.transformer == "requireType")
    }

    @Test func `TR-04 limits of size and time are those of the block`() async throws {
        let transformed = try await transform(
            """
            transformedSizeLimit: 1 KiB
            transformTimeout: 45 s
            pipeline: { model: [ { exec: { command: /usr/bin/yes, timeout: 20 s } } ] }
            """, content: "x")
        guard case .failure(let error) = transformed.response else {
            Issue.record("it was not bounded")
            return
        }
        #expect(error.userMessage == "/usr/bin/yes wrote more than the 1024 octets allowed")
        #expect(error.stage == .model)
    }

    @Test func `PL-07 whether a stage is kept is carried along`() throws {
        let fixture = try ConfigurationFixture(
            TransformerSettingsTests.yaml([
                "pipeline: { model: { cache: default }, rawData: { cache: none } }",
                "pipeline: { removeAllCaches: true, parsing: { add: json, cache: default } }",
            ]))
        var configuration = Configuration()
        let blocks = try #require(try fixture.settings().services.first).configure
        blocks[0].apply(to: &configuration)
        #expect(configuration.pipeline[.model].isCached == true)
        #expect(configuration.pipeline[.rawData].isCached == false)
        #expect(configuration.pipeline[.parsing].isCached == nil)
        blocks[1].apply(to: &configuration)
        #expect(configuration.pipeline[.model].isCached == false)
        #expect(configuration.pipeline[.cleanup].isCached == false)
        #expect(configuration.pipeline[.parsing].transformers.count == 1)
        #expect(configuration.pipeline[.parsing].isCached == true)
    }

    // MARK: What is shown

    @Test func `what is shown reads back as the same`() throws {
        let block = """
            pipeline:
              order: [rawData, mine, model, cleanup]
              clear: true
              removeAllTransformers: true
              removeAllCaches: true
              rawData: { cache: none }
              mine: [json, { use: gunzip, always: true }, decode, { use: text, transformErrors: false }]
              model:
                clear: true
                cache: default
                add:
                  - { jq: "{a, \\"b\\": .c}", onMismatch: skipIfOutputTypeMatches }
                  - jq: { program: ".", timeout: 3 s }
                  - jsonPointer: /a
                  - jsonPointer: { select: "", omit: [/b, /c~1d] }
                  - errorMessageFrom: /m
                  - successIfStatus: [404, 410]
                  - requireType: json
                  - headers: { X-A: "1", X-Token: "${SECRET}", X-B: null }
                  - exec: [/bin/echo, "-n", "${SECRET}"]
                  - exec: { command: [/bin/cat], timeout: 1 s, concurrency: 2, contentType: text/plain }
                    contentTypes: ["text/*"]
            serve: mine
            transformTimeout: 2 s
            transformedSizeLimit: 3 MiB
            """
        let environment = ["SECRET": "hunter2"]
        let first = try ConfigurationFixture(
            TransformerSettingsTests.yaml([block], service: "    standardTransformers: [image]\n"),
            environment: environment)
        let shown = SettingsCatalogue.show(try first.settings())
        #expect(!shown.yaml.contains("hunter2"))
        #expect(shown.yaml.contains("standardTransformers: [image]"))
        #expect(shown.yaml.contains("serve: mine"))
        let second = try ConfigurationFixture(shown.yamlBlock, environment: environment)
        #expect(SettingsCatalogue.show(try second.settings()).yamlBlock == shown.yamlBlock)
        for word in [
            "skipIfOutputTypeMatches", "timeout: 3 s", "select", "/c~1d", "successIfStatus", "requireType",
            "concurrency",
            "transformErrors: false", "always: true", "removeAllCaches: true", "${SECRET}",
        ] {
            #expect(shown.yaml.contains(word), "\(word)")
        }
    }

    // MARK: Mistakes

    typealias Mistake = (block: String, line: Int, column: Int, setting: String, words: [String])

    private static let mistakes: [Mistake] = [
        ("pipeline: [json]", 5, 19, "pipeline", ["a list", "a map from a stage's name"]),
        ("pipeline: { modle: json }", 5, 21, "pipeline", ["unknown stage `modle`", "did you mean `model`?"]),
        ("pipeline: { mine: json }", 5, 21, "pipeline", ["unknown stage `mine`", "named in `order` first"]),
        ("pipeline: { order: [clear] }", 5, 29, "pipeline.order[0]", ["a meaning of its own"]),
        ("pipeline: { clear: 1 }", 5, 28, "pipeline.clear", ["`true` or `false`"]),
        ("pipeline: { model: jsno }", 5, 28, "pipeline.model[0]", ["`jsno`", "did you mean `json`?"]),
        ("pipeline: { model: [ { jk: . } ] }", 5, 32, "pipeline.model[0]", ["the unknown key `jk`"]),
        (
            "pipeline: { model: [ { jq: ., exec: /bin/cat } ] }", 5, 30, "pipeline.model[0]",
            [
                "jq and exec", "exactly one of", "items of their own",
            ]
        ),
        ("pipeline: { model: [ { onMismatch: skip } ] }", 5, 30, "pipeline.model[0]", ["without a transformer"]),
        ("pipeline: { model: [ { jq: '.[' } ] }", 5, 36, "pipeline.model[0].jq", ["`.[`", "syntax error"]),
        ("pipeline: { model: [ { jq: { timeout: 1 s } } ] }", 5, 36, "pipeline.model[0].jq", ["without `program`"]),
        (
            "pipeline: { model: [ { jq: { program: ., timeout: 1 } } ] }", 5, 59, "pipeline.model[0].jq.timeout",
            [
                "did you mean `1 s`?"
            ]
        ),
        (
            "pipeline: { model: [ { jsonPointer: a.b } ] }", 5, 45, "pipeline.model[0].jsonPointer",
            [
                "a JSON pointer", "did you mean `/a/b`?",
            ]
        ),
        ("pipeline: { model: [ { jsonPointer: {} } ] }", 5, 45, "pipeline.model[0].jsonPointer", ["without pointers"]),
        (
            "pipeline: { model: [ { jsonPointer: { omit: '' } } ] }", 5, 45, "pipeline.model[0].jsonPointer",
            [
                "everything in `omit`"
            ]
        ),
        ("pipeline: { model: [ { errorMessageFrom: /~2 } ] }", 5, 50, "pipeline.model[0].errorMessageFrom", ["`~0`"]),
        (
            "pipeline: { model: [ { successIfStatus: 200 } ] }", 5, 49, "pipeline.model[0].successIfStatus[0]",
            [
                "from 400 to 599"
            ]
        ),
        ("pipeline: { model: [ { requireType: yaml } ] }", 5, 45, "pipeline.model[0].requireType", ["`octets`"]),
        (
            "pipeline: { model: [ { headers: { Content-Length: 1 } } ] }", 5, 43,
            "pipeline.model[0].headers.Content-Length",
            [
                "Larder writes this one itself"
            ]
        ),
        (
            "pipeline: { model: [ { headers: { Content-Encoding: x } } ] }", 5, 41, "pipeline.model[0].headers",
            [
                "do not describe the content"
            ]
        ),
        ("pipeline: { model: [ { headers: {} } ] }", 5, 41, "pipeline.model[0].headers", ["an empty map"]),
        ("pipeline: { model: [ { exec: cat } ] }", 5, 38, "pipeline.model[0].exec", ["`cat`", "absolute path"]),
        ("pipeline: { model: [ { exec: 'tr a b' } ] }", 5, 38, "pipeline.model[0].exec", ["no shell splits it"]),
        ("pipeline: { model: [ { exec: { timeout: 1 s } } ] }", 5, 38, "pipeline.model[0].exec", ["without `command`"]),
        (
            "pipeline: { model: [ { use: json, contentTypes: json } ] }", 5, 57, "pipeline.model[0].contentTypes[0]",
            [
                "a media type"
            ]
        ),
        (
            "pipeline: { model: [ { use: json, contentTypes: text/json;a=b } ] }", 5, 57,
            "pipeline.model[0].contentTypes[0]",
            [
                "leave out the parameters"
            ]
        ),
        (
            "pipeline: { model: [ { use: json, onMismatch: skp } ] }", 5, 55, "pipeline.model[0].onMismatch",
            [
                "did you mean `skip`?"
            ]
        ),
        (
            "pipeline: { model: [ { requireType: json, onMismatch: skip } ] }", 5, 51, "pipeline.model[0]",
            [
                "`onMismatch` with `requireType`", "remove it",
            ]
        ),
        ("pipeline: { model: [ { use: json, always: true } ] }", 5, 43, "pipeline.model[0]", ["`always` with `json`"]),
        ("pipeline: { model: { cache: main } }", 5, 37, "pipeline.model.cache", ["`default` or `none`"]),
        ("serve: rawdata", 5, 16, "serve", ["did you mean `rawData`?"]),
        ("serve: mine", 5, 16, "serve", ["named in `order` first"]),
        ("transformTimeout: 0", 5, 27, "transformTimeout", ["the least is"]),
        ("keyedByContent: POST", 5, 25, "keyedByContent", ["`true` or `false`"]),
        ("keyedContentLimit: 1 GiB", 5, 28, "keyedContentLimit", ["the most is"]),
        ("onChange: { exec: [sh, -c, a] }", 5, 27, "onChange.exec", ["by its absolute path"]),
        ("onChange: { webhook: ftp://a.test/ }", 5, 30, "onChange.webhook", ["an http or https URL"]),
        ("refreshAhead: watch", 5, 23, "refreshAhead", ["found `watch`", "`watched`"]),
        ("refreshAhead: every 15m", 5, 23, "refreshAhead", ["did you mean `every 15 min`?"]),
        ("refreshAhead: every 5 s", 5, 23, "refreshAhead", ["1 min … 30 days"]),
        ("refreshAhead: daily 6:00", 5, 23, "refreshAhead", ["`daily 06:00`"]),
        ("refreshAhead: daily 24:00", 5, 23, "refreshAhead", ["`daily 06:00`"]),
        ("reloadOnRecovery: 5 s", 5, 27, "reloadOnRecovery", ["`true` or `false`"]),
        ("codings: [gzip, brotli]", 5, 25, "codings[1]", ["`zstd`, `br` or `gzip`"]),
        ("codings: [gzip, br, zstd, gzip]", 5, 18, "codings", ["at most 3"]),
        ("transformedSizeLimit: 1 B", 5, 31, "transformedSizeLimit", ["the least is"]),
    ]

    @Test(arguments: mistakes.indices)
    func `each mistake is told with its place and what to do`(_ index: Int) throws {
        try expectProblem(TransformerSettingsTests.mistakes[index])
    }

    /// Stages named twice, wherever they stand, and content of stages that do not run, whichever way it is written.
    private static let misplaced: [Mistake] = [
        ("pipeline: { order: [model, model] }", 5, 28, "pipeline.order", ["`model` twice", "each stage once"]),
        ("pipeline: { order: [mine, parsing, mine] }", 5, 28, "pipeline.order", ["`mine` twice"]),
        ("pipeline: { order: [model], parsing: json }", 5, 37, "pipeline", ["`parsing`, which does not run"]),
        (
            "pipeline: { order: [model], parsing: { add: json } }", 5, 37, "pipeline",
            ["`parsing`, which does not run"]
        ),
        (
            "pipeline: { order: [mine], model: [ { use: json } ] }", 5, 36, "pipeline",
            ["`model`, which does not run"]
        ),
    ]

    @Test(arguments: misplaced.indices)
    func `PL-03 a stage named twice and content of one that does not run are told`(_ index: Int) throws {
        try expectProblem(TransformerSettingsTests.misplaced[index])
    }

    @Test func `PL-03 stages named once whose content runs are accepted`() throws {
        let block = "pipeline: { order: [mine, parsing], parsing: json, mine: { cache: default } }"
        #expect(try ConfigurationFixture(TransformerSettingsTests.yaml([block])).problems() == [])
    }

    private func expectProblem(_ mistake: Mistake) throws {
        let problems = try ConfigurationFixture(TransformerSettingsTests.yaml([mistake.block])).problems()
        #expect(problems.count == 1, "\(mistake.block)")
        let problem = try #require(problems.first)
        #expect(problem.line == mistake.line, "\(problem)")
        #expect(problem.column == mistake.column, "\(problem)")
        #expect(problem.setting == "services.a.configure[0].\(mistake.setting)", "\(problem)")
        for words in mistake.words { #expect(problem.description.contains(words), "\(problem)") }
    }

    @Test func `a rule for changes that tells nobody is refused`() throws {
        let yaml = TransformerSettingsTests.yaml(["onChange: { debounce: 5 s }"])
        let problem = try #require(try ConfigurationFixture(yaml).problems().first)
        #expect(problem.setting == "services.a.configure[0].onChange")
        #expect(problem.description.contains("neither `exec` nor `webhook`"))
    }

    @Test func `a standard transformer that is none is refused`() throws {
        let yaml = TransformerSettingsTests.yaml(["serve: raw"], service: "    standardTransformers: [jsn]\n")
        let problem = try #require(try ConfigurationFixture(yaml).problems().first)
        #expect(problem.description.contains("did you mean `json`?"))
    }

    // MARK: The documentation

    @Test func `the examples of the documentation do what they say`() async throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("docs/transformers.md")
        var block: String?
        var input: String?
        var tested = 0
        for part in try String(contentsOf: page, encoding: .utf8).split(separator: "\n```") {
            guard let end = part.firstIndex(of: "\n") else { continue }
            let (kind, text) = (part[..<end], String(part[end...].dropFirst()))
            switch kind {
            case "yaml":
                block = text
                let problems = try ConfigurationFixture(TransformerSettingsTests.yaml([text])).problems()
                #expect(problems == [], "\(text)")
            case "json from": input = text
            case "json to":
                let transformed = try await transform(try #require(block), content: try #require(input))
                #expect(try self.text(transformed) == text)
                tested += 1
            default: break
            }
        }
        #expect(tested >= 4)
    }
}
