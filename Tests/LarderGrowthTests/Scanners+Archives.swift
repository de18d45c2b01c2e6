// SPDX-License-Identifier: Apache-2.0

@testable import LarderAdmin
import LarderHTTP
@testable import LarderProxy

extension Scanner {
    /// Files that operators got from others.
    static let archives = [
        Scanner(
            "HTTP archives", in: ["LarderAdmin/Interception/HTTPArchive.swift"],
            ["{},", "{\"request\":{\"url\":\"http://a/\",\"method\":\"GET\"},\"response\":{\"status\":200}},"],
            opening: "{\"log\":{\"entries\":["
        ) { input in
            var input = input
            if input.last == UInt8(ascii: ",") { input.removeLast() }
            _ = try? HTTPArchive.recording("a", from: input + Array("]}}".utf8))
        },
        Scanner(
            "heads in exports", in: ["LarderAdmin/Archives/"], ["[\"a\",\"b\"],"],
            opening: "{\"method\":\"GET\",\"status\":200,\"url\":\"http://a/\",\"service\":\"a\",\"fields\":["
        ) { input in
            _ = try? ArchivedEntity.parse(input.dropLast() + Array("]}".utf8), limits: ParseLimits())
        },
        Scanner("exports", in: ["LarderAdmin/Archives/"], ["\u{0}", "a"]) { input in
            let file = Tar.file("a", [], modified: 0)
            for octets in [input, Array(repeatElement(file, count: input.count / file.count).joined())] {
                var reader = TarReader()
                for start in stride(from: 0, to: octets.count, by: 64) {
                    reader.feed(octets[start..<min(start + 64, octets.count)])
                    while let event = try? reader.next(), event != .end {}
                }
            }
        },
    ]
}
