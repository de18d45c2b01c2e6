// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Larder
import LarderHTTP
import Testing

@Suite("Types of the ecosystem")
struct InteropTests {
    @Test func `fields go there and back with their order repeats and octets`() {
        var fields: Fields = [.accept: "a/b", "X-Own": "1"]
        fields.append(.setCookie, "a=1")
        fields.append(.setCookie, "b=2")
        [0x63, 0xE9].withUnsafeBufferPointer { (octets: UnsafeBufferPointer<UInt8>) in
            fields.append("X-Latin", bytes: UnsafeRawBufferPointer(octets))
        }
        let common = HTTPFields(fields)
        #expect(common[values: .setCookie] == ["a=1", "b=2"])
        #expect(Fields(common) == fields)
    }

    @Test func `methods and statuses go there and back`() {
        #expect(HTTPRequest.Method(LarderHTTP.Method.patch) == .patch)
        #expect(LarderHTTP.Method(HTTPRequest.Method.put) == .put)
        #expect(HTTPResponse.Status(LarderHTTP.Status(404)) == .notFound)
        #expect(HTTPResponse.Status(LarderHTTP.Status(404)).reasonPhrase == "Not Found")
        #expect(LarderHTTP.Status(HTTPResponse.Status.created) == 201)
    }
}
