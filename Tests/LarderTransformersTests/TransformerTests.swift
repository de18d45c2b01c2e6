// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderCodings
import LarderHTTP
import LarderTesting
import Testing

@testable import LarderTransformers

func gzip(_ text: String) throws -> [UInt8] { try ContentCoding.gzip.encode(Array(text.utf8)) }

@Suite("Transformers of the daemon")
struct TransformerTests {
    private let options = TransformerOptions()

    // MARK: Codings

    @Test(arguments: [(ContentCoding.gzip, "gunzip"), (.br, "brotli"), (.zstd, "zstd")])
    func `a coding is undone with its field`(_ coding: ContentCoding, _ name: String) async throws {
        let fixture = Fixture(Transformers.decode(coding, named: name, options))
        let coded = try coding.encode(Array("hello".utf8))
        let transformed = await fixture.transform(coded, type: "text/plain", [.contentEncoding: coding.token])
        #expect(transformed.text == "hello")
        #expect(transformed.fields?[.contentEncoding] == nil)
        #expect(transformed.fields?[.eTag] == nil)
        let other = await fixture.transform("plain", type: "text/plain")
        #expect(other.text == "plain")
        #expect(other.fields?[.eTag] == "\"1\"")
        let error = await fixture.transform("damaged", 200, [.contentEncoding: coding.token]).error
        #expect((error?.cause as? CodingError)?.coding == coding)
        #expect(error?.stage == .model)
        #expect(error?.transformer == name)
    }

    @Test func `all codings are undone in their order`() async throws {
        let fixture = Fixture(Transformers.decode(options))
        let coded = try ContentCoding.br.encode(gzip("twice"))
        #expect(await fixture.transform(coded, 200, [.contentEncoding: "gzip, identity , BR"]).text == "twice")
        let error = await fixture.transform("x", 200, [.contentEncoding: "gzip, compress"]).error
        #expect((error?.cause as? UnknownContentCoding)?.name == "compress")
    }

    @Test func `a coding that no field names is undone when that is asked for`() async throws {
        let fixture = Fixture(Transformers.decode(.gzip, named: "gunzip", always: true, options))
        #expect(await fixture.transform(try gzip("file"), type: "application/gzip").text == "file")
        #expect(await fixture.transform("no file").error?.cause is CodingError)
    }

    @Test func `a bomb is an error that names stage and transformer`() async throws {
        var options = options
        options.sizeLimit = 1_000
        let bomb = try ContentCoding.gzip.encode([UInt8](repeating: 0, count: 1 << 20))
        let error = await Fixture(Transformers.decode(options)).transform(bomb, 200, [.contentEncoding: "gzip"]).error
        #expect((error?.cause as? CodingError)?.problem == .tooLarge(limit: 1_000))
        #expect(error?.stage == .model)
        #expect(error?.transformer == "decode")
    }

    @Test func `TR-10 TR-11 the standard transformers undo codings first`() async throws {
        let options = options
        let fixture = Fixture { configuration in
            for kind in [ContentType.json, .text, .image] {
                if let standard = Transformers.standard(kind, options) { configuration.pipeline.add(standard) }
            }
        }
        let fields: Fields = [.contentEncoding: "gzip"]
        #expect(await fixture.transform(try gzip("{ }"), 200, fields).text == "{}")
        #expect(await fixture.transform(try gzip("ä"), type: "text/plain; charset=utf-8", fields).text == "ä")
        let failed = await fixture.transform(try gzip(#"{"a": 1}"#), 500, fields)
        #expect(failed.text == #"{"a":1}"#)
        #expect(failed.error?.json?["a"] == 1)
        #expect(await fixture.transform("damaged", 200, fields).error?.cause is CodingError)
        let kept = await fixture.transform("damaged", 500, fields)
        #expect(kept.text == "damaged")
        #expect(kept.fields?[.contentEncoding] == "gzip")
    }

    // MARK: JSON pointers

    private static let document = #"{"a":{"b":[10,20,{"c/d":1,"e~f":2}],"":3},"n":null}"#

    @Test(arguments: [
        ("", document), ("/a/b/0", "10"), ("/a/b/2/c~1d", "1"), ("/a/b/2/e~0f", "2"), ("/a/", "3"), ("/n", "null"),
        ("/a/b/3", nil), ("/a/b/-", nil), ("/a/b/01", nil), ("/a/b/x", nil), ("/a/b/0/x", nil), ("/z", nil),
        ("/a/b/99999999999999999999", nil),
    ])
    func `a pointer finds a place or nothing`(_ text: String, _ found: String?) throws {
        let value = try JSONValue(parsing: TransformerTests.document)
        #expect(try #require(JSONPointer(text)).value(in: value)?.description == found)
    }

    @Test(arguments: ["a", "#/a", "/~", "/a~2", "/~~0"])
    func `what is no pointer is refused`(_ text: String) { #expect(JSONPointer(text) == nil) }

    @Test func `a place is selected and others left out`() async throws {
        let fixture = Fixture(
            Transformers.jsonPointer(
                select: JSONPointer("/a"), omit: ["/b/1", "/b/1/c~1d", "/z/z", "/"].compactMap(JSONPointer.init),
                options))
        let kept = await fixture.transform(TransformerTests.document).text
        #expect(kept == #"{"b":[10,{"e~f":2}]}"#)
        let error = await fixture.transform("{}").error
        #expect((error?.cause as? JSONPointerFoundNothing)?.pointer.text == "/a")
        #expect(await fixture.transform("x").error?.cause is JSONSyntaxError)
    }

    // MARK: Errors

    @Test func `TR-13 the message of an error is taken from its content`() async throws {
        let fixture = Fixture(Transformers.errorMessage(from: try #require(JSONPointer("/error/message")), options))
        let body = #"{"error":{"message":"Not your day"}}"#
        let failed = await fixture.transform(body, 403)
        #expect(failed.error?.userMessage == "Not your day")
        // The content is as it was, and so are its fields.
        #expect(failed.text == body)
        #expect(failed.fields?[.eTag] == "\"1\"")
        #expect(await fixture.transform("{}", 403).error?.userMessage == "Forbidden")
        #expect(await fixture.transform(#"{"error":{"message":7}}"#, 403).error?.userMessage == "Forbidden")
        #expect(await fixture.transform("<html>", 403).error?.userMessage == "Forbidden")
        let coded = await fixture.transform(try gzip(body), 403, [.contentEncoding: "gzip"])
        #expect(coded.error?.userMessage == "Not your day")
        #expect(coded.fields?[.contentEncoding] == "gzip")
    }

    @Test func `TR-01 an error status can be a success`() async {
        let fixture = Fixture(Transformers.success(ifStatus: [404, 410]))
        let gone = await fixture.transform("gone", 410)
        #expect(gone.response.entity?.status == 410)
        #expect(gone.error == nil)
        #expect(gone.text == "gone")
        #expect(await fixture.transform("no", 403).error?.status == 403)
    }

    @Test func `an error of the pipeline stays one whatever its status`() async throws {
        let options = options
        let fixture = Fixture {
            $0.pipeline[.parsing].add(Transformers.parsing(.json, options))
            $0.pipeline[.model].add(Transformers.success(ifStatus: [200, 404]))
        }
        #expect(await fixture.transform("no JSON").error?.stage == .parsing)
    }

    // MARK: Types and fields

    @Test(arguments: ContentType.allCases, ContentType.allCases)
    func `TR-14 a type is required`(_ required: ContentType, _ actual: ContentType) async throws {
        let options = options
        let fixture = Fixture {
            if actual != .octets { $0.pipeline[.parsing].add(Transformers.parsing(actual, options)) }
            $0.pipeline[.model].add(Transformers.requireType(required, options))
        }
        let gif: [UInt8] = Array("GIF89a".utf8) + [1, 0, 1, 0]
        let transformed = await fixture.transform(actual == .image ? gif : Array("{}".utf8), type: "text/plain")
        let cause = transformed.error?.cause as? WrongInputTypeInTransformerPipeline
        if required == actual {
            #expect(transformed.error == nil)
        } else {
            #expect(cause?.expected == required.rawValue)
            #expect(cause?.actual == actual.rawValue)
            #expect(cause?.transformer == "requireType")
        }
    }

    @Test(arguments: [InputTypeMismatchAction.error, .skip, .skipIfOutputTypeMatches])
    func `TR-03 other types are errors or skipped`(_ action: InputTypeMismatchAction) async throws {
        var options = options
        options.onMismatch = action
        let set = options
        let fixture = Fixture {
            $0.pipeline[.parsing].add(Transformers.parsing(.text, set))
            $0.pipeline[.model].add(Transformers.decode(.gzip, named: "gunzip", always: true, set))
        }
        let error = await fixture.transform("text", type: "text/plain").error
        if action == .skip {
            #expect(error == nil)
        } else {
            #expect((error?.cause as? WrongInputTypeInTransformerPipeline)?.actual == "text")
        }
        let json = Fixture {
            $0.pipeline.add(.json)
            $0.pipeline[.model].add(Transformers.requireType(.json, set))
        }
        #expect(await json.transform("{}").error == nil)
    }

    @Test func `fields are set and taken off, and content that nobody touched keeps its own`() async {
        let fixture = Fixture(Transformers.headers([FieldEdit("X-A", "1"), FieldEdit("Server", nil)]))
        for status: Status in [200, 404] {
            let transformed = await fixture.transform("x", status, ["Server": "s", .contentEncoding: "gzip"])
            #expect(transformed.text == "x")
            #expect(transformed.fields?["X-A"] == "1")
            #expect(transformed.fields?["Server"] == nil)
            #expect(transformed.fields?[.eTag] == "\"1\"")
            #expect(transformed.fields?[.contentEncoding] == "gzip")
        }
    }
}
