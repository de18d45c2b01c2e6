// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderProxy

@Suite("Spellings of a URI")
struct SpellingTests {
    func differs(_ written: String, from uri: TargetURI, below base: TargetURI? = nil) -> Bool {
        Array(written.utf8).withUnsafeBytes { uri.differsOnlyInEscapes(from: $0, below: base) }
    }

    /// Both with every escape that need not be one taken away, but for dots, and the rest in capitals.
    func plain(_ text: String) -> String {
        var result = ""
        var rest = Array(text)[...]
        while let first = rest.popFirst() {
            guard first == "%", rest.count >= 2, let octet = UInt8(String(rest.prefix(2)), radix: 16),
                rest.prefix(2).allSatisfy(\.isHexDigit)
            else {
                result.append(first)
                continue
            }
            let scalar = Character(UnicodeScalar(octet))
            let isUnreserved = octet < 128 && (scalar.isLetter || scalar.isNumber || "-_~".contains(scalar))
            result += isUnreserved ? String(scalar) : "%" + String(rest.prefix(2)).uppercased()
            rest = rest.dropFirst(2)
        }
        return result
    }

    @Test func `random spellings are judged as a naive reading does`() {
        var generator = SystemRandomNumberGenerator()
        let pieces = [
            "a", "b", "/", "-", "~", ".", "..", "%61", "%2D", "%2d", "%7E", "%7e", "%2E", "%2e", "%2F", "%2f", "%C3%a4",
            "?", "&", "=", "%25", "%", "%4", "+", "%20", "%3F",
        ]
        var differing = 0
        for _ in 0..<30_000 {
            let written =
                "/"
                + (0..<Int.random(in: 0...6, using: &generator)).map { _ in pieces.randomElement(using: &generator)! }
                .joined()
            let other =
                Bool.random(using: &generator)
                ? written
                : "/"
                    + (0..<Int.random(in: 0...6, using: &generator)).map { _ in pieces.randomElement(using: &generator)!
                    }.joined()
            guard let uri = try? TargetURI("http://a.example" + other) else { continue }
            let normal = uri.pathAndQuery
            let expected = normal != written && plain(normal) == plain(written)
            #expect(differs(written, from: uri) == expected, "\(written) and \(normal)")
            if expected { differing += 1 }
        }
        #expect(differing > 1000)
    }

    @Test func `below a base only what follows it is compared`() throws {
        let base = try TargetURI("http://a.example/v1/")
        let uri = try TargetURI("http://a.example/v1/a~b")
        #expect(differs("/a%7Eb", from: uri, below: base))
        #expect(!differs("/a~b", from: uri, below: base))
        #expect(!differs("/v1/a%7Eb", from: uri, below: base))
    }
}
