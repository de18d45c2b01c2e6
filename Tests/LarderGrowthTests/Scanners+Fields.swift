// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
@testable import LarderProxy
import LarderRules

extension Scanner {
    /// Values of fields. `ReadingCostTests` has many more of them.
    static let fields = [
        Scanner(
            "values of fields, as the rules read them",
            in: ["LarderHTTP/Fields/", "LarderRules/Fields/", "LarderRules/Caching/", "LarderHTTP/Messages/"],
            ["a,", "a=1, ", "\"\\\"", "\\\"", "a=\"", ",", "; ", "W/\"", "0-1,", "=", "private=\"a\",", "Mon, ", "("]
        ) { input in
            let names: [FieldName] = [
                .cacheControl, .cacheGroups, .cacheGroupInvalidation, .contentRange, .range, .vary, .retryAfter,
                .ifNoneMatch, .acceptEncoding, .connection, .via, "RateLimit",
            ]
            for name in names {
                var fields = Fields()
                input.withUnsafeBytes { fields.append(name, bytes: $0) }
                _ = CacheControl.Request(fields)
                _ = CacheControl.Response(fields)
                _ = Variance(vary: fields, request: fields).matches(fields)
                _ = Invalidation.groups(of: fields)
                _ = RetryAfter.delay(fields, now: Timestamp(seconds: 0))
                _ = ContentRange(fields)
                _ = RangeSpecifier(fields)
                _ = EntityTagList(name, in: fields)
                _ = AcceptedCodings(fields)
                _ = ConnectionOptions(fields)
            }
            input.withUnsafeBytes { input in
                _ = HTTPDate.parse(input, now: Timestamp(seconds: 0))
                _ = MediaType(input, isLenient: true)
                _ = QuotedString.unquoted(input)
                _ = ListGrammar.forEachElement(input) { _ in }
            }
        },
        Scanner("credentials", in: ["LarderHTTP/Base64Text.swift"], ["QUJD", "=", "é"]) { input in
            _ = Base64Text.decoded(octets: input)
        },
        Scanner(
            "`Link` fields, as programs ask for a relation", in: ["Larder/Entity/Entity+Links.swift"],
            ["<a>;rel=b,", "<a", ";a=\"", "<a>; rel=\"\\\"", "<a>;rel=\"a ", "<>,"], opening: "<x>;rel=a,"
        ) { input in
            let fields: Fields = ["Link": String(decoding: input, as: UTF8.self)]
            _ = Entity(content: [UInt8](), fields: fields, timestamp: Timestamp(seconds: 0)).link("next")
        },
        Scanner("`Via`", in: ["LarderProxy/Routing/ViaField.swift"], ["1.1 a,", "1.1 a ("]) { input in
            _ = Pseudonym().own(in: ["Via": String(decoding: input, as: UTF8.self)])
        },
        Scanner(
            "`traceparent`", in: ["LarderProxy/Log/Tracing/TraceContext.swift"], ["00", "-"], opening: "00-"
        ) { input in
            _ = input.withUnsafeBytes { TraceContext($0) }
        },
    ]
}
