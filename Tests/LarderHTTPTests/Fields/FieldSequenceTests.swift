// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@Suite("Fields as a sequence and as a dictionary")
struct FieldSequenceTests {
    private let fields: Fields = ["Content-Type": "text/plain", "X-B": "1", "x-a": "2", "X-b": "3"]

    @Test func `lines come in their order with their names as they are compared`() {
        #expect(fields.map(\.name) == ["content-type", "x-b", "x-a", "x-b"])
        #expect(fields.map(\.value) == ["text/plain", "1", "2", "3"])
        #expect(fields.map(\.description).first == "Content-Type: text/plain")
        #expect(Array(fields).count == fields.count)
        #expect(Fields(fields.filter { $0.name != "x-b" }) == ["Content-Type": "text/plain", "X-A": "2"])
        #expect(Array(Fields()).isEmpty)
    }

    @Test func `a section that lines were taken out of goes on`() {
        var fields = fields
        fields.remove("x-b")
        #expect(fields.map(\.value) == ["text/plain", "2"])
    }

    @Test func `names that come at run time find their fields`() {
        let name = "x-" + "B"
        #expect(fields[name] == "1, 3")
        #expect(fields["no" + " name"] == nil)
        #expect(fields["X-C", default: "none"] == "none")
        #expect(fields["X-A", default: "none"] == "2")
    }

    @Test func `names and values make a dictionary and a dictionary makes fields`() {
        var fields = fields
        fields.append(.setCookie, "a=1")
        #expect(fields.names == ["content-type", "x-b", "x-a", "set-cookie"])
        #expect(fields.dictionary == ["content-type": "text/plain", "x-b": "1, 3", "x-a": "2"])
        #expect(Fields(["B": "2", "A": "1"])?.map(\.value) == ["1", "2"])
        #expect(Fields(["not a name": "1"]) == nil)
        #expect(Fields(["A": "two\r\nlines"]) == nil)
    }

    @Test func `what is merged takes the place of what has its name`() {
        let merged = fields.merging(["X-B": "9", "X-C": "8"])
        #expect(merged[all: "x-b"] == ["9"])
        #expect(merged["x-c"] == "8")
        #expect(merged["x-a"] == "2")
    }

    @Test func `octets beyond ASCII read as ISO-8859-1`() {
        var fields = Fields()
        fields.append("X-Name", "é")
        #expect(fields.map(\.value) == ["é"])
        #expect(Fields(fields) == fields)
    }
}
