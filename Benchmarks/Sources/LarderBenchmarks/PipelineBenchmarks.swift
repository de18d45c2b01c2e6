// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP

extension Benchmark {
    /// Transformers at work on content.
    static var pipeline: [Benchmark] {
        let record = #"{"id":583231,"login":"octocat","site_admin":false,"score":1.5,"tags":["a","b","c"]}"#
        let short = "[\(record)]"
        let long = "[" + [String](repeating: record, count: 750).joined(separator: ",") + "]"
        func through(_ transformer: some ResponseTransformer, _ type: String, _ text: String) -> (Int) async -> Void {
            let entity = Entity<any Sendable>(
                content: Array(text.utf8), contentType: type, timestamp: Timestamp(seconds: 1_700_000_000))
            return { count in
                for _ in 0..<count {
                    guard transformer.applies(to: .success(entity)) else { continue }
                    keep(transformer.process(.success(entity)).entity != nil)
                }
            }
        }
        let (json, text) = (StandardTransformer.jsonTransformer(), StandardTransformer.textTransformer())
        return [
            Benchmark("pipeline/json-short", through(json, "application/json", short)),
            Benchmark("pipeline/json-64KiB", through(json, "application/json", long)),
            Benchmark("pipeline/text-64KiB", through(text, "text/plain; charset=utf-8", long)),
        ]
    }
}
