// SPDX-License-Identifier: Apache-2.0

@testable import Larder
import LarderCodings
import LarderHTTP
@testable import LarderProxy
import LarderRules
import LarderShared

extension Scanner {
    /// Content of requests and responses.
    static let content = [
        Scanner(
            "JSON", in: ["LarderHTTP/JSON/", "Larder/Entity/JSONValue"],
            ["[", "{\"a\":", "\"\\u0041", "1,", "\"a\":1,", "\\\"", " ", "1234567890", "[],", "\u{e9}"], opening: "["
        ) { input in
            _ = try? JSONValue(parsing: input)
        },
        Scanner(
            "keys made of content", in: ["LarderRules/Content/"],
            ["{\"a\":", "\"a\":1,", "query a{", "mutation ", "\"\"\"", "#", "a=b&", "a;a=", "%41", "&"], opening: "{"
        ) { input in
            _ = CanonicalJSON(input)
            _ = GraphQLDocument.mayChange(input)
            _ = FormText.values(of: "query", in: input)
        },
        Scanner(
            "what a model was used for", in: ["LarderRules/Content/"],
            ["\"usage\"", "\"usage\":{", "\"usage\" ", "\"model\":", "\"usage\":{\"input_tokens\":1}", "{\"usage\":"]
        ) { input in
            _ = input.withUnsafeBytes { ModelUsage(in: $0) }
        },
        Scanner(
            "images", in: ["Larder/Entity/ImageInfo.swift"], ["\u{0}", "\u{7f}\u{0}\u{0}\u{2}", "a"], opening: "GIF89a"
        ) { input in
            _ = ImageInfo(input)
            // The beginning of a JPEG, whose segments have lengths.
            _ = ImageInfo([0xFF, 0xD8] + (0..<input.count / 4).flatMap { _ in [0xFF, 0xE0, 0x00, 0x02] as [UInt8] })
        },
        Scanner("content codings", in: ["LarderCodings/"], ["a", "\u{0}", "0123456789abcdef"]) { input in
            for coding in [ContentCoding.gzip, .deflate, .br, .zstd] {
                guard let coded = try? coding.encode(input), let nothing = try? coding.encode([]) else { continue }
                // Empty members, and frames: many bytes for none.
                let empty = Array(repeatElement(nothing, count: input.count / max(nothing.count, 1)).joined())
                for octets in [coded, empty, input] {
                    guard let decoder = try? coding.decoder(limit: 1 << 30) else { continue }
                    var out: [UInt8] = []
                    for start in stride(from: 0, to: octets.count, by: 64) {
                        let piece = Array(octets[start..<min(start + 64, octets.count)])
                        guard (try? decoder.decode(piece, into: &out)) != nil else { break }
                    }
                }
            }
            _ = ContentCodings(String(decoding: input, as: UTF8.self))
        },
        Scanner(
            "secrets in what is recorded and logged", in: ["LarderProxy/Interception/Recordings/"],
            [
                "\"token\":", "\"token\":\"", "\"a", "\"a\":", "\\\"", "\\", "&quot;", "&", "%22", "token=", "a=b&",
                "{\"a\":", "\n", "--b\r\n", "\"password\":[", "http://a/?token=a ", "\\u0022", "'", "\"a\" ",
            ], opening: "{\"a\":1,"
        ) { input in
            for type in [
                "application/json", "text/plain", "application/x-www-form-urlencoded",
                "multipart/form-data; boundary=b",
            ] {
                _ = SecretText.scrubbed(input, type: type)
            }
            let text = String(decoding: input, as: UTF8.self)
            _ = SecretText.scrubbed(url: "http://a.example/?" + text)
            _ = SecretText.scrubbed(text, of: .location)
        },
        Scanner(
            "replies of the shared engine", in: ["LarderShared/Protocol/"],
            ["*1\r\n", "$1\r\na\r\n", "+a\r\n", "*2\r\n:1\r\n", "$"]
        ) { input in
            let reader = ReplyReader()
            for start in stride(from: 0, to: input.count, by: 64) {
                let piece = Array(input[start..<min(start + 64, input.count)])
                let isGood = piece.withUnsafeBytes { bytes in
                    do { _ = try reader.read(bytes) } catch { return false }
                    return true
                }
                guard isGood else { return }
            }
        },
    ]
}
