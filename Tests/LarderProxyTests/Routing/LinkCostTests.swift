// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Larder
@testable import LarderProxy

@Suite("The cost of links in content")
struct LinkCostTests {
    /// Lines with links whose paths lead out of all services, or are in no URL, with a link to look at in each.
    static let lines = [
        "https://api.example/v1/../", "https://api.example/v1/%2e%2e/", "href=/v1/../", "https://api.example/v1/../%",
        "https:\\/\\/api.example\\/v1\\/..\\/", "https://api.example/v1/", "https://api.example/v1/../v1/x ", "://",
        "a=",
    ]

    private func scanner(of line: String, count: Int, piece: Int) throws -> LinkScanner {
        var scanner = LinkScanner(try LinkScannerTests().map())
        var rest = Array(String(repeating: line, count: count / line.utf8.count).utf8)[...]
        while !rest.isEmpty {
            _ = scanner.take(rest.prefix(piece))
            rest = rest.dropFirst(piece)
        }
        _ = scanner.take([], isLast: true)
        return scanner
    }

    @Test(arguments: lines) func `grows as the content does`(line: String) throws {
        let short = try scanner(of: line, count: 62 << 10, piece: 16 << 10).work
        let long = try scanner(of: line, count: 248 << 10, piece: 16 << 10).work
        #expect(long <= short * 5)
        #expect(short <= 10 * 62 << 10)
    }

    @Test(arguments: lines) func `does not depend on the pieces that content comes in`(line: String) throws {
        let whole = try scanner(of: line, count: 16 << 10, piece: 16 << 10).work
        let pieces = try scanner(of: line, count: 16 << 10, piece: 1).work
        #expect(pieces <= whole + 16)
    }

    @Test func `a link that leads out of all services is left alone with all links in its path`() throws {
        let map = try LinkScannerTests().map()
        let text = "https://api.example/v1/../v2/https://api.example/v1/x https://api.example/v1/y"
        let expected = "https://api.example/v1/../v2/https://api.example/v1/x http://localhost:3128/api/y"
        for piece in 1...text.utf8.count { #expect(LinkScannerTests().mapped(text, map, piece: piece) == expected) }
    }

    @Test func `of very many links with dot segments the last stay as they came`() throws {
        let link = "https://api.example/v1/a/../x "
        let count = LinkScanner.resolvingLimit
        let mapped = LinkScannerTests().mapped(String(repeating: link, count: count + 2), try LinkScannerTests().map())
        #expect(mapped == String(repeating: "http://localhost:3128/api/x ", count: count) + link + link)
    }
}
