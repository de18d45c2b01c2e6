// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP

extension Benchmark {
    /// Which resources a block of the configuration is for.
    static var patterns: [Benchmark] {
        get throws {
            let base = try TargetURI("http://api.example/v1/")
            let url = ResourceURL(try TargetURI("http://api.example/v1/users/octocat/repositories/larder?page=2"))
            func matching(_ name: String, _ pattern: some ConfigurationPattern) -> Benchmark {
                let matches = pattern.predicate(relativeTo: base)
                return Benchmark(name) { count in
                    for _ in 0..<count { keep(matches(url)) }
                }
            }
            return [
                matching("pattern/glob-exact", try GlobPattern("users/octocat/repositories/larder")),
                matching("pattern/glob-star", try GlobPattern("users/*/repositories/*")),
                matching("pattern/glob-deep", try GlobPattern("**/repositories/**")),
                matching("pattern/regex", try RegexPattern("^http://api\\.example/v1/users/[a-z]+/repositories/")),
                matching("pattern/regex-backtracking", try RegexPattern("(a|o|r|u)*(s|e|t)*/z")),
            ]
        }
    }
}
