// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderRules

extension Benchmark {
    /// The decisions of the RFCs.
    static var rules: [Benchmark] {
        get throws {
            let stored = Shelf.stored()
            let policy = CachePolicy()
            let now = Timestamp(seconds: 1_700_000_010)
            let target = try TargetURI("http://api.example/users/octocat/repositories?page=2&sort=name")
            return [
                Benchmark("rules/reuse-hit") { count in
                    for _ in 0..<count {
                        keep(Reuse.decide(request: Samples.request, candidates: [stored], policy: policy, now: now))
                    }
                },
                Benchmark("rules/reuse-stale") { count in
                    let later = Timestamp(seconds: 1_700_001_000)
                    for _ in 0..<count {
                        keep(Reuse.decide(request: Samples.request, candidates: [stored], policy: policy, now: later))
                    }
                },
                Benchmark("rules/reuse-among-16") { count in
                    let candidates = (0..<16).map { _ in Shelf.stored() }
                    for _ in 0..<count {
                        keep(Reuse.decide(request: Samples.request, candidates: candidates, policy: policy, now: now))
                    }
                },
                Benchmark("rules/storability") { count in
                    for _ in 0..<count {
                        keep(
                            Storability.decide(
                                request: Samples.request, target: target, response: Samples.head, policy: policy,
                                responseTime: now))
                    }
                },
                Benchmark("rules/stored-response") { count in
                    for _ in 0..<count { keep(Shelf.stored()) }
                },
                Benchmark("rules/preconditions") { count in
                    var request = Samples.request
                    request.fields[.ifNoneMatch] = "W/\"6c1f8e0a5b2d4c7e9f01\""
                    for _ in 0..<count { keep(Preconditions.evaluate(request, against: stored)) }
                },
                Benchmark("rules/hop-by-hop") { count in
                    for _ in 0..<count {
                        var fields = Samples.request.fields
                        HopByHop.strip(&fields, for: .forwardRequest)
                        keep(fields.count)
                    }
                },
            ]
        }
    }
}
