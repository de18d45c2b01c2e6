// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

extension Benchmark {
    /// Octets to values and back.
    static var heads: [Benchmark] {
        [
            Benchmark("head/request-small") { count in parseRequests(Samples.smallRequest, count) },
            Benchmark("head/request-browser") { count in parseRequests(Samples.browserRequest, count) },
            Benchmark("head/response") { count in
                var parser = ResponseHeadParser()
                var head = ResponseHead()
                for _ in 0..<count {
                    keep(try? Samples.response.withUnsafeBytes { try parser.parse($0.bytes, into: &head) })
                }
            },
            Benchmark("head/write-request") { count in
                var head = RequestHead(target: "/users/octocat?full=1")
                head.fields = Samples.fields
                var out: [UInt8] = []
                for _ in 0..<count {
                    out.removeAll(keepingCapacity: true)
                    MessageWriter.append(head, framing: .none, to: &out)
                    keep(out.count)
                }
            },
            Benchmark("head/date") { count in
                let text = Array("Tue, 14 Nov 2023 22:13:20 GMT".utf8)
                let now = Timestamp(seconds: 1_700_000_000)
                for _ in 0..<count { keep(text.withUnsafeBytes { HTTPDate.parse($0, now: now) }) }
            },
            Benchmark("head/target-uri") { count in
                let text = Array("http://api.example:8080/users/octocat/repositories?page=2&sort=name".utf8)
                var uri = TargetURI()
                for _ in 0..<count {
                    try? text.withUnsafeBytes { try uri.set(absolute: $0) }
                    keep(uri.count)
                }
            },
            Benchmark("content/chunked-64KiB") { count in
                let content = Samples.chunked(pieces: 16, of: 4096)
                for _ in 0..<count {
                    var decoder = FramingDecoder(.chunked)
                    var total = 0
                    _ = try? content.withUnsafeBytes { try decoder.decode($0.bytes) { total += $0.count } }
                    keep(total)
                }
            },
        ]
    }

    private static func parseRequests(_ octets: [UInt8], _ count: Int) {
        var parser = RequestHeadParser()
        var head = RequestHead()
        for _ in 0..<count { keep(try? octets.withUnsafeBytes { try parser.parse($0.bytes, into: &head) }) }
    }
}

/// Messages as they come from real clients and origins.
enum Samples {
    static let smallRequest = Array("GET /users/octocat HTTP/1.1\r\nHost: localhost:3128\r\nAccept: */*\r\n\r\n".utf8)

    static let browserRequest = Array(
        """
        GET http://api.example/users/octocat/repositories?page=2&sort=name HTTP/1.1\r
        Host: api.example\r
        User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r
        Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r
        Accept-Language: en-GB,en;q=0.7,de;q=0.3\r
        Accept-Encoding: gzip, deflate, br, zstd\r
        Referer: http://api.example/users/octocat\r
        Connection: keep-alive\r
        Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; seen=1\r
        Upgrade-Insecure-Requests: 1\r
        Sec-Fetch-Dest: document\r
        Sec-Fetch-Mode: navigate\r
        Sec-Fetch-Site: same-origin\r
        Priority: u=0, i\r
        \r

        """.utf8)

    static let response = Array(
        """
        HTTP/1.1 200 OK\r
        Date: Tue, 14 Nov 2023 22:13:20 GMT\r
        Content-Type: application/json; charset=utf-8\r
        Content-Length: 1024\r
        Cache-Control: public, max-age=60, s-maxage=60\r
        Vary: Accept, Accept-Encoding\r
        ETag: W/"6c1f8e0a5b2d4c7e9f01"\r
        Last-Modified: Mon, 13 Nov 2023 09:00:00 GMT\r
        X-RateLimit-Remaining: 4999\r
        Strict-Transport-Security: max-age=31536000; includeSubDomains\r
        \r

        """.utf8)

    /// The fields of `response`.
    static let fields: Fields = head.fields

    static let head: ResponseHead = {
        var parser = ResponseHeadParser()
        var head = ResponseHead()
        _ = try? response.withUnsafeBytes { try parser.parse($0.bytes, into: &head) }
        return head
    }()

    /// The head of a request without demands.
    static let request: RequestHead = {
        var parser = RequestHeadParser()
        var head = RequestHead()
        _ = try? browserRequest.withUnsafeBytes { try parser.parse($0.bytes, into: &head) }
        return head
    }()

    static func chunked(pieces: Int, of size: Int) -> [UInt8] {
        var octets: [UInt8] = []
        for _ in 0..<pieces {
            MessageWriter.appendChunkStart(count: size, to: &octets)
            octets += [UInt8](repeating: 0x78, count: size)
            MessageWriter.appendChunkEnd(to: &octets)
        }
        MessageWriter.appendLastChunk(trailers: Fields(), to: &octets)
        return octets
    }
}
