// SPDX-License-Identifier: Apache-2.0
package import Larder

extension Transformers {
    /// Has a jq program make another JSON value of JSON.
    package static func jq(_ program: JQProgram, _ options: TransformerOptions) -> some ResponseTransformer {
        EntityTransformer(
            transformerDescription: "jq", options: options, takes: jsonSources, isOutput: { $0 is JSONValue },
            body: { entity, deadline in
                let input: [UInt8]
                switch entity.content {
                case let value as JSONValue: input = try value.wireContent().octets
                case let text as String: input = Array(text.utf8)
                default:
                    guard let octets = try entity.decoded(limit: options.sizeLimit).content as? [UInt8] else {
                        throw EntityTransformer.WrongContent()
                    }
                    input = octets
                }
                return try program.run(input, limit: options.sizeLimit, until: deadline).map {
                    entity.withJSON(try JSONValue(parsing: $0))
                }
            }, details: program.text, threads: program.threads)
    }
}
