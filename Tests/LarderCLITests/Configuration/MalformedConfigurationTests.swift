// SPDX-License-Identifier: Apache-2.0

import LarderSettings
import Testing

@testable import LarderCLI

/// One mistake, and what is said about it.
struct Mistake: Sendable, CustomTestStringConvertible {
    var label: String
    var yaml: String
    var line: Int
    var column: Int
    var setting: String
    var found: String
    var expected: String
    var suggestion: String?
    var advice: String?

    var testDescription: String { label }
}

@Suite("Malformed configuration")
struct MalformedConfigurationTests {
    @Test(arguments: mistakes)
    func `each mistake is told with its place, what was found and what was expected`(_ mistake: Mistake) throws {
        let fixture = try ConfigurationFixture(mistake.yaml)
        let problems = fixture.problems()
        let told = problems.map {
            Mistake(
                label: mistake.label, yaml: mistake.yaml, line: $0.line ?? 0, column: $0.column ?? 0,
                setting: $0.setting, found: $0.found, expected: $0.expected ?? "", suggestion: $0.suggestion,
                advice: $0.advice)
        }
        #expect(told.map(\.all) == [mistake.all])
    }

    @Test func `a line of the message has file, line, column and everything that is known`() throws {
        let fixture = try ConfigurationFixture("cache:\n  memory: 64\n")
        #expect(
            fixture.problems().map(\.description) == [
                """
                \(fixture.directory)/larder.yaml:2:11: cache.memory: found `64`; did you mean `64 MiB`? Expected a \
                size from 1 MiB to 1 TiB with its unit, as `64 KiB` or `10 GiB`; a number needs its unit
                """
            ])
    }

    @Test func `all mistakes are told at once, in the order of the file`() throws {
        let fixture = try ConfigurationFixture(
            """
            services: { a: { baseURL: ftp://x/ } }
            threads: none
            log: { level: loud }
            lisen: x
            """)
        #expect(fixture.problems().map(\.line) == [1, 2, 3, 4])
    }

    @Test func `no more than a hundred mistakes are told, and the others counted`() throws {
        let yaml = (0..<150).map { "key\($0): 1\n" }.joined()
        let fixture = try ConfigurationFixture(yaml)
        #expect {
            try fixture.loader.load()
        } throws: { error in
            let problems = error as? SettingsProblems
            return problems?.problems.count == 100 && problems?.omitted == 50
                && problems?.description.hasSuffix("… and 50 more") == true
        }
    }

    static let mistakes: [Mistake] = [
        Mistake(
            label: "a misspelt key", yaml: "lisen: x\n", line: 1, column: 1, setting: "",
            found: "the unknown key `lisen`", expected: topLevelKeys, suggestion: "listen"),
        Mistake(
            label: "a key in snake case", yaml: "services:\n  a:\n    base_url: http://a/\n", line: 3, column: 5,
            setting: "services.a", found: "the unknown key `base_url`",
            expected:
                "one of preset, token, baseURL, mount, privacy, identity, shared, ignoreQuery, allowHosts, browsers, parent, tls, offline, history, standardTransformers, routes, quota, prices, configure",
            suggestion: "baseURL"),
        Mistake(
            label: "a key at the wrong level", yaml: "inlineLimit: 1 KiB\n", line: 1, column: 1, setting: "",
            found: "the unknown key `inlineLimit`", expected: topLevelKeys, suggestion: "cache.inlineLimit"),
        Mistake(
            label: "a key like no other", yaml: "log:\n  zzz: 1\n", line: 2, column: 3, setting: "log",
            found: "the unknown key `zzz`", expected: "one of level, access, format, accessFormat, accessFile",
            advice: "`larder settings` lists them all"),
        Mistake(
            label: "a list where a map belongs", yaml: "cache: [1, 2]\n", line: 1, column: 8, setting: "cache",
            found: "a list",
            expected:
                "a map with one of path, disk, memory, inlineLimit, maxObject, targets, surrogateKey, hideSurrogateKey"),
        Mistake(
            label: "no space after a colon", yaml: "cache:\n  memory:64 MiB\n", line: 2, column: 3, setting: "cache",
            found: "a text",
            expected:
                "a map with one of path, disk, memory, inlineLimit, maxObject, targets, surrogateKey, hideSurrogateKey",
            advice: "write a space after `memory:`"),
        Mistake(
            label: "no space after a colon, and a line more", yaml: "threads:2\nlog: {}\n", line: 2, column: 4,
            setting: "",
            found: "text that is not YAML (mapping values are not allowed in this context)", expected: "YAML",
            advice: "write a space after the colon in the line before"),
        Mistake(
            label: "a map where a text belongs", yaml: "log: { level: { a: 1 } }\n", line: 1, column: 15,
            setting: "log.level", found: "a map",
            expected: "`trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical`"),
        Mistake(
            label: "nothing where a text belongs", yaml: "threads:\n", line: 1, column: 9, setting: "threads",
            found: "nothing", expected: "a whole number from 1 to 1024"),
        Mistake(
            label: "the beginning of a word", yaml: "log: { level: warn }\n", line: 1, column: 15,
            setting: "log.level", found: "`warn`",
            expected: "`trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical`", suggestion: "warning"),
        Mistake(
            label: "a misspelt word", yaml: "log: { level: debg }\n", line: 1, column: 15, setting: "log.level",
            found: "`debg`", expected: "`trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical`",
            suggestion: "debug"),
        Mistake(
            label: "a number out of range", yaml: "threads: 0\n", line: 1, column: 10, setting: "threads",
            found: "`0`", expected: "a whole number from 1 to 1024", advice: "the least is 1"),
        Mistake(
            label: "a number in quotes", yaml: "threads: \"4\"\n", line: 1, column: 10, setting: "threads",
            found: "`4` in quotes", expected: "a whole number from 1 to 1024", advice: "leave the quotes out"),
        Mistake(
            label: "a switch that is neither", yaml: "log:\n  access: ture\n", line: 2, column: 11,
            setting: "log.access", found: "`ture`", expected: "`true` or `false`", suggestion: "true"),
        Mistake(
            label: "a duration without a unit", yaml: "timeouts:\n  head: 5\n", line: 2, column: 9,
            setting: "timeouts.head", found: "`5`", expected: aTimeout, suggestion: "5 s",
            advice: "a number needs its unit"),
        Mistake(
            label: "a duration with a misspelt unit", yaml: "timeouts: { idle: 5 minuts }\n", line: 1, column: 19,
            setting: "timeouts.idle", found: "`5 minuts`", expected: aTimeout, suggestion: "5 minutes",
            advice: "`minuts` is not a unit"),
        Mistake(
            label: "a duration that is too long", yaml: "timeouts: { idle: 2 days }\n", line: 1, column: 19,
            setting: "timeouts.idle", found: "`2 days`", expected: aTimeout, advice: "the most is 1 day"),
        Mistake(
            label: "a size with a unit that may mean two things", yaml: "cache:\n  disk: 10G\n", line: 2, column: 9,
            setting: "cache.disk", found: "`10G`",
            expected: "a size from 4 MiB to 1024 TiB with its unit, as `64 KiB` or `10 GiB`", suggestion: "10 GiB",
            advice: "`G` is not a unit"),
        Mistake(
            label: "a port alone", yaml: "listen: [3128]\n", line: 1, column: 10, setting: "listen[0]",
            found: "`3128`", expected: anAddress, suggestion: "127.0.0.1:3128"),
        Mistake(
            label: "a port behind a colon", yaml: "listen: [\":3128\"]\n", line: 1, column: 10, setting: "listen[0]",
            found: "`:3128`", expected: anAddress, suggestion: "127.0.0.1:3128",
            advice: "`0.0.0.0:3128` would be every address there is"),
        Mistake(
            label: "a host without a port", yaml: "listen: localhost\n", line: 1, column: 9, setting: "listen[0]",
            found: "`localhost`", expected: anAddress, suggestion: "localhost:3128"),
        Mistake(
            label: "a port that is too large", yaml: "listen: [\"127.0.0.1:99999\"]\n", line: 1, column: 10,
            setting: "listen[0]", found: "`127.0.0.1:99999`", expected: anAddress, advice: "the largest port is 65535"),
        Mistake(
            label: "an IPv6 address without brackets", yaml: "listen: [\"::1\"]\n", line: 1, column: 10,
            setting: "listen[0]", found: "`::1`", expected: anAddress, suggestion: "[::1]:3128"),
        Mistake(
            label: "an address twice", yaml: "listen: [\"127.0.0.1:1\", \"127.0.0.1:1\"]\n", line: 1, column: 1,
            setting: "listen", found: "`127.0.0.1:1` twice", expected: "each address once",
            advice: "remove one of them"),
        Mistake(
            label: "a list of nothing", yaml: "listen: []\n", line: 1, column: 9, setting: "listen",
            found: "an empty list", expected: "at least 1 address"),
        Mistake(
            label: "a key twice", yaml: "threads: 1\nlog: {}\nthreads: 2\n", line: 3, column: 1, setting: "",
            found: "`threads` again", expected: "each key once",
            advice: "it is set at larder.yaml:1:1 already; remove one of them"),
        Mistake(
            label: "a base URL without a scheme", yaml: "services: { a: { baseURL: api.example.com/v1 } }\n", line: 1,
            column: 27, setting: "services.a.baseURL", found: "`api.example.com/v1`", expected: aBaseURL,
            suggestion: "https://api.example.com/v1"),
        Mistake(
            label: "a base URL of another scheme", yaml: "services: { a: { baseURL: \"htps://a/\" } }\n", line: 1,
            column: 27, setting: "services.a.baseURL", found: "`htps://a/`", expected: aBaseURL,
            suggestion: "https://a/", advice: "`htps` is not a scheme that Larder speaks"),
        Mistake(
            label: "a base URL with a password", yaml: "services: { a: { baseURL: \"http://u:hush@a/\" } }\n", line: 1,
            column: 27, setting: "services.a.baseURL", found: "a URL with a user name", expected: aBaseURL,
            advice: "send credentials with `headers: { Authorization: … }` in a `configure` block"),
        Mistake(
            label: "a service without a base URL", yaml: "services:\n  a: { offline: true }\n", line: 2, column: 3,
            setting: "services.a", found: "a service without `baseURL`", expected: "the URL of the API",
            advice: "a service is made by its `baseURL: https://…`"),
        Mistake(
            label: "a service with a name that is no host label",
            yaml: "services: { My_API: { baseURL: \"http://a\" } }\n",
            line: 1, column: 13, setting: "services.My_API", found: "the name `My_API`",
            expected: "a name of 1 to 63 lower-case letters, digits and `-`", suggestion: "my-api"),
        Mistake(
            label: "a service with a name that is taken", yaml: "services: { https: { baseURL: \"http://a\" } }\n",
            line: 1, column: 13, setting: "services.https", found: "the name `https`",
            expected: "a name of 1 to 63 lower-case letters, digits and `-`",
            advice: "`/https/<host>/…` leads to any host; choose another name"),
        Mistake(
            label: "two services at one mount",
            yaml: """
                services:
                  a: { baseURL: "http://a/" }
                  b:
                    baseURL: "http://b/"
                    mount: /a/
                """,
            line: 5, column: 5, setting: "services.b.mount", found: "the mount `/a/`",
            expected: "a path that no other service has",
            advice: "it overlaps `/a/` of the service `a`; choose another"),
        Mistake(
            label: "a mount inside another",
            yaml: """
                services:
                  a: { baseURL: "http://a/", mount: /x/y/ }
                  x: { baseURL: "http://b/" }
                """,
            line: 2, column: 30, setting: "services.a.mount", found: "the mount `/x/y/`",
            expected: "a path that no other service has",
            advice: "it overlaps `/x/` of the service `x`; choose another"),
        Mistake(
            label: "a mount of Larder's own", yaml: "services: { a: { baseURL: \"http://a/\", mount: /-/ } }\n",
            line: 1,
            column: 47, setting: "services.a.mount", found: "`/-/`",
            expected: "a path that starts and ends with `/`, as `/github/`",
            advice: "`/-/` is Larder's own; choose another path"),
        Mistake(
            label: "a mount below Larder's own", yaml: "services: { a: { baseURL: \"http://a/\", mount: /-/x } }\n",
            line: 1,
            column: 47, setting: "services.a.mount", found: "`/-/x`",
            expected: "a path that starts and ends with `/`, as `/github/`",
            advice: "`/-/` is Larder's own; choose another path"),
        Mistake(
            label: "a base URL with a query", yaml: "services: { a: { baseURL: \"http://a/?k=v\" } }\n", line: 1,
            column: 27, setting: "services.a.baseURL", found: "a URL with a query", expected: aBaseURL,
            advice: "set parameters with `routes: [{ from: \"/{path*}\", setQuery: { … } }]`"),
        Mistake(
            label: "two services with one base URL",
            yaml: "services:\n  a: { baseURL: \"http://x\" }\n  b: { baseURL: \"HTTP://X:80/\" }\n", line: 3,
            column: 8, setting: "services.b.baseURL", found: "`http://x/` again",
            expected: "a URL that no other service has",
            advice: "the service `a` has it already; put both into one service"),
        Mistake(
            label: "a base URL that is Larder's own", yaml: "services: { a: { baseURL: \"http://localhost:3128\" } }\n",
            line: 1, column: 18, setting: "services.a.baseURL", found: "`http://localhost:3128/`",
            expected: "a URL that is not Larder's own", advice: "`listen` has this address; name the origin's"),
        Mistake(
            label: "a pattern that names a query", yaml: block("match: /search?q=*"), line: 5, column: 16,
            setting: "services.a.configure[0].match", found: "`/search?q=*`", expected: aPattern, suggestion: "/search",
            advice: "a pattern cannot name a query, `?` is any one character; add `query: { … }`"),
        Mistake(
            label: "a pattern with too many wildcards",
            yaml: block("match: \"" + String(repeating: "/*", count: 33) + "\""), line: 5, column: 16,
            setting: "services.a.configure[0].match",
            found: "`\(String(repeating: "/*", count: 30))…`", expected: aPattern,
            advice: "the pattern has more than 32 wildcards"),
        Mistake(
            label: "a regular expression that cannot be read", yaml: block("regex: \"a(b\""), line: 5, column: 16,
            setting: "services.a.configure[0].regex", found: "`a(b`",
            expected: "a regular expression, as `^https://api\\.example\\.com/`",
            advice: "the regular expression is wrong: missing ): a(b, at ‘a(b’"),
        Mistake(
            label: "an expiration of two modes",
            yaml: block("{ expirationTime: { time: 1 s, mode: cap }, override: true }"), line: 5, column: 53,
            setting: "services.a.configure[0].override",
            found: "both `override` and a `mode` of `expirationTime`", expected: "one of them",
            advice: "remove `override`"),
        Mistake(
            label: "a least time beside an expiration", yaml: block("{ expirationTime: 1 s, keepFor: 1 h }"), line: 5,
            column: 32, setting: "services.a.configure[0].keepFor", found: "both `keepFor` and `expirationTime`",
            expected: "one of them", advice: "`keepFor` is `expirationTime` with `mode: floor`; remove one of them"),
        Mistake(
            label: "a least time with a mode", yaml: block("keepFor: { time: 1 h, mode: cap }"), line: 5, column: 18,
            setting: "services.a.configure[0].keepFor", found: "`keepFor` with a `mode`", expected: "times alone",
            advice: "its mode is `floor`; write `expirationTime` for another"),
        Mistake(
            label: "an expiration without a time", yaml: block("expirationTime: { mode: cap }"), line: 5, column: 25,
            setting: "services.a.configure[0].expirationTime", found: "a map without `time`",
            expected: "a duration from 0 to 3650 days with its unit, as `30 s` or `10 min`",
            advice: "add `time: 30 s`"),
        Mistake(
            label: "a field that is not the configuration's", yaml: block("headers: { Host: x }"), line: 5, column: 20,
            setting: "services.a.configure[0].headers.Host", found: "the field `Host`",
            expected: "the name of a field that may be set, as `Authorization`",
            advice: "Larder writes this one itself; remove it"),
        Mistake(
            label: "a field with a line end in it", yaml: block("headers: { X: \"a\\r\\nB: c\" }"), line: 5, column: 23,
            setting: "services.a.configure[0].headers.X",
            found: "a text that is too long or holds line ends or other characters",
            expected: "visible ASCII characters, spaces and tabs, at most 8 KiB"),
        Mistake(
            label: "a refusal beside a response", yaml: block("decorate: { deny: {}, respond: {} }"), line: 5,
            column: 31, setting: "services.a.configure[0].decorate.respond", found: "`respond` beside `deny`",
            expected: "one of them", advice: "either answers every request; remove one"),
        Mistake(
            label: "a refusal that is none", yaml: block("decorate: { deny: { status: 200 } }"), line: 5, column: 37,
            setting: "services.a.configure[0].decorate.deny.status", found: "`200`",
            expected: "a whole number from 400 to 599", advice: "the least is 400"),
        Mistake(
            label: "a decorator that there is not", yaml: block("decorate: { retyr: 3 }"), line: 5, column: 21,
            setting: "services.a.configure[0].decorate", found: "the unknown key `retyr`",
            expected: "one of deny, respond, delay, retry, refreshToken", suggestion: "retry"),
        Mistake(
            label: "a repetition for what succeeded", yaml: block("decorate: { retry: { on: [200] } }"), line: 5,
            column: 35, setting: "services.a.configure[0].decorate.retry.on[0]", found: "`200`",
            expected: "`unreachable` or a status from 400 to 599"),
        Mistake(
            label: "a first wait longer than the longest",
            yaml: block("decorate: { retry: { backoff: 20 s, maxBackoff: 10 s } }"), line: 5, column: 30,
            setting: "services.a.configure[0].decorate.retry.backoff", found: "a `backoff` longer than `maxBackoff`",
            expected: "no more than 10 s", advice: "lower one or raise the other"),
        Mistake(
            label: "a retry that is a word", yaml: block("decorate: { retry: never }"), line: 5, column: 28,
            setting: "services.a.configure[0].decorate.retry", found: "`never`",
            expected: "a map with `attempts`, `backoff`, `maxBackoff`, `within` and `on`, or `none`"),
        Mistake(
            label: "a refresh without a place to go", yaml: block("decorate: { refreshToken: { store: { t: /t } } }"),
            line: 5, column: 35, setting: "services.a.configure[0].decorate.refreshToken",
            found: "a map without `url`", expected: "a map with `url` and `store`",
            advice: "as `refreshToken: { url: /token, store: { token: /access_token } }`"),
        Mistake(
            label: "a refresh of what is not declared",
            yaml: "variables: { token: {} }\n"
                + block("decorate: { refreshToken: { url: /t, store: { tokn: /t } } }"),
            line: 6, column: 55, setting: "services.a.configure[0].decorate.refreshToken.store.tokn",
            found: "`tokn`, which is not declared", expected: "the name of a variable",
            advice: "declare it under `variables`; did you mean `token`?"),
        Mistake(
            label: "a refresh with two contents",
            yaml: "variables: { t: {} }\n"
                + block("decorate: { refreshToken: { url: /t, store: { t: /t }, json: { a: b }, form: { a: b } } }"),
            line: 6, column: 35, setting: "services.a.configure[0].decorate.refreshToken",
            found: "both `json` and `form`", expected: "one of them"),
        Mistake(
            label: "a variable where none may be",
            yaml: "variables: { t: { value: x } }\nadmin: { token: \"${t}\" }\n", line: 2, column: 17,
            setting: "admin.token", found: "`${t}`, which has a variable in it",
            expected: "a text without variables",
            advice: "variables may stand in `headers` and in what `decorate` sends"),
        Mistake(
            label: "a variable with two sources", yaml: "variables: { t: { value: x, env: HOME } }\n", line: 1,
            column: 17, setting: "variables.t", found: "more than one of `env`, `file` and `value`",
            expected: "one of them", advice: "the value comes from one place"),
        Mistake(
            label: "a variable whose environment variable is not set",
            yaml: "variables: { t: { env: NOT_SET_ANYWHERE } }\n", line: 1, column: 19, setting: "variables.t.env",
            found: "the environment variable `NOT_SET_ANYWHERE`, which is not set",
            expected: "a variable of the daemon's environment", advice: "set it before the daemon starts"),
        Mistake(
            label: "a variable that is no name", yaml: "variables: { a-b: { value: x } }\n", line: 1, column: 14,
            setting: "variables.a-b", found: "the name `a-b`",
            expected: "a name of at most 100 letters, digits and `_` that begins with a letter"),
        Mistake(
            label: "a reaction that there is not", yaml: "variables: { t: { onChange: [wipe] } }\n", line: 1,
            column: 30, setting: "variables.t.onChange[0]", found: "`wipe`",
            expected: "`invalidateConfiguration` or `wipeAll`", suggestion: "wipeAll"),
        Mistake(
            label: "a write with an unknown sequel", yaml: block("afterWrite: relaod"), line: 5, column: 21,
            setting: "services.a.configure[0].afterWrite", found: "`relaod`",
            expected: "`invalidate`, `none`, `reload`, `override`, `promote` or `wipe`", suggestion: "reload"),
        Mistake(
            label: "a route without a beginning", yaml: service("routes: [{ to: /x }]"), line: 4, column: 14,
            setting: "services.a.routes[0]", found: "a route without `from`",
            expected: "the paths it is for, as `from: \"/u/{id}\"`"),
        Mistake(
            label: "a route that changes nothing", yaml: service("routes: [{ from: /x }]"), line: 4, column: 14,
            setting: "services.a.routes[0]", found: "a route that changes nothing",
            expected: "`to`, `setQuery`, `addQuery` or `removeQuery`"),
        Mistake(
            label: "a route to a place that is not there",
            yaml: service("routes: [{ from: \"/u/{userID}\", to: \"/users/{userId}\" }]"), line: 4, column: 14,
            setting: "services.a.routes[0]", found: "`{userId}` in `to`, which `from` does not have",
            expected: "one of `{userID}`", suggestion: "{userID}"),
        Mistake(
            label: "a template that mixes place and text",
            yaml: service("routes: [{ from: \"/u-{id}\", to: /x }]"), line: 4, column: 22,
            setting: "services.a.routes[0].from", found: "`/u-{id}`",
            expected: "a path with places, as `/users/{id}` or `/files/{path*}`",
            advice: "`u-{id}` mixes a place with text; `{name}` stands for a whole segment"),
        Mistake(
            label: "a route twice", yaml: service("routes: [{ from: /a, to: /b }, { from: /a, to: /c }]"), line: 4,
            column: 36, setting: "services.a.routes[1]", found: "`from: /a` again", expected: "each path once",
            advice: "the first one that matches is used; remove this one"),
        Mistake(
            label: "a parameter set and removed",
            yaml: service("routes: [{ from: /a, setQuery: { x: 1 }, removeQuery: [x] }]"), line: 4, column: 14,
            setting: "services.a.routes[0]", found: "the parameter `x` more than once",
            expected: "each parameter once"),
        Mistake(
            label: "a method in lower case", yaml: block("methods: [get]"), line: 5, column: 19,
            setting: "services.a.configure[0].methods[0]", found: "`get`", expected: "a request method, as `GET`",
            suggestion: "GET"),
        Mistake(
            label: "a block that is not in a list",
            yaml: "services:\n  a:\n    baseURL: http://a/\n    configure: { match: /x }\n", line: 4, column: 16,
            setting: "services.a.configure", found: "a map", expected: "a list of blocks, each a map",
            advice: "start each block with `- `"),
        Mistake(
            label: "a range with bits that do not count", yaml: "access: { allow: [192.0.2.7/24] }\n", line: 1,
            column: 19, setting: "access.allow[0]", found: "`192.0.2.7/24`",
            expected: "an address or a range, as `192.0.2.7`, `192.0.2.0/24` or `fd00::/8`",
            suggestion: "192.0.2.0/24", advice: "bits after the prefix must be 0"),
        Mistake(
            label: "a relative path", yaml: "cache: { path: larder.db }\n", line: 1, column: 16, setting: "cache.path",
            found: "`larder.db`", expected: "the absolute path of a directory, or `none`",
            advice: "start it with `/`"),
        Mistake(
            label: "a field name that is none", yaml: "cache: { surrogateKey: a b }\n", line: 1, column: 24,
            setting: "cache.surrogateKey", found: "`a b`", expected: "the name of a field, as `CDN-Cache-Control`"),
        Mistake(
            label: "something hidden that is not there", yaml: "cache: { hideSurrogateKey: yes }\n", line: 1,
            column: 10,
            setting: "cache.hideSurrogateKey", found: "no `cache.surrogateKey`",
            expected: "the field that is to be hidden",
            advice: "name it in `cache.surrogateKey`, or leave this out"),
        Mistake(
            label: "a limit above the one it is part of", yaml: "cache: { inlineLimit: 64 KiB, maxObject: 1 KiB }\n",
            line: 1, column: 10, setting: "cache.inlineLimit", found: "64 KiB",
            expected: "no more than `cache.maxObject`, which is 1 KiB", advice: "lower one or raise the other"),
        Mistake(
            label: "a variable that is not set", yaml: "admin:\n  token: ${LARDER_TOKEN}\n", line: 2, column: 10,
            setting: "admin.token", found: "`${LARDER_TOKEN}`, but the environment variable LARDER_TOKEN is not set",
            expected: "a variable of the daemon's environment", advice: "set it before the daemon starts"),
        Mistake(
            label: "a reference that does not end", yaml: "admin: { token: \"${A\" }\n", line: 1, column: 17,
            setting: "admin.token", found: "`${` without `}`", expected: "`${NAME}` or `${file:/path}`",
            advice: "close it, or write `$${` for the characters themselves"),
        Mistake(
            label: "a list that does not end", yaml: "listen: [a\n", line: 2, column: 1, setting: "",
            found: "text that is not YAML (did not find expected ',' or ']', parsing a flow sequence of line 1)",
            expected: "YAML", advice: "close each `[` with `]` and each `{` with `}`"),
        Mistake(
            label: "a text that does not end", yaml: "listen: \"a\n", line: 2, column: 1, setting: "",
            found: "text that is not YAML (found unexpected end of stream, scanning a quoted scalar of line 1)",
            expected: "YAML", advice: "close the quotation mark"),
        Mistake(
            label: "a second colon", yaml: "cache: disk: 1 GiB\n", line: 1, column: 12, setting: "",
            found: "text that is not YAML (mapping values are not allowed in this context)",
            expected: "YAML",
            advice: "put a value with `: ` in quotes, or begin it on a line of its own, indented by spaces"),
        Mistake(
            label: "a tab", yaml: "cache:\n\tdisk: 1 GiB\n", line: 2, column: 1, setting: "",
            found: "a tab", expected: "spaces", advice: "YAML is indented with spaces, not tabs"),
        Mistake(
            label: "a tab behind spaces", yaml: "cache:\n  disk: 1 GiB\n  \tmemory: 1 MiB\n", line: 3, column: 3,
            setting: "", found: "a tab", expected: "spaces", advice: "YAML is indented with spaces, not tabs"),
        Mistake(
            label: "a bare reference in braces", yaml: "admin: { token: ${A} }\n", line: 1, column: 18, setting: "",
            found: "text that is not YAML (did not find expected ',' or '}', parsing a flow mapping of line 1)",
            expected: "YAML", advice: "put a value with `${…}` in quotes"),
        Mistake(
            label: "a bare pattern that starts with a star", yaml: block("match: **"), line: 5, column: 17, setting: "",
            found:
                "text that is not YAML (did not find expected alphabetic or numeric character, scanning an alias of line 5)",
            expected: "YAML", advice: "put a pattern that starts with `*` in quotes"),
        Mistake(
            label: "two documents", yaml: "threads: 1\n---\nthreads: 2\n", line: 2, column: 1, setting: "",
            found:
                "text that is not YAML (but found another document, expected a single document in the stream of line 1)",
            expected: "YAML", advice: "keep one: what follows `---` belongs above it, or into a file of its own"),
        Mistake(
            label: "a text alone", yaml: "hello\n", line: 1, column: 1, setting: "", found: "a text",
            expected: "a map with " + topLevelKeys),
        Mistake(
            label: "a number alone", yaml: "5\n", line: 1, column: 1, setting: "", found: "a number",
            expected: "a map with " + topLevelKeys),
        Mistake(
            label: "a key that is no text", yaml: "[a]: 1\n", line: 1, column: 1, setting: "",
            found: "a list or a map as a key", expected: "a text",
            advice: "a value that starts with `{` or `[` needs quotes around it"),
        Mistake(
            label: "a tag", yaml: "threads: !!int 4\n", line: 1, column: 10, setting: "",
            found: "the tag `tag:yaml.org,2002:int`", expected: "a value without a tag"),
    ]

    private static let topLevelKeys =
        "one of listen, tls, threads, admin, cache, sharedCache, timeouts, limits, log, trace, upstream, tunnels, "
        + "intercept, offline, codings, access, gateway, forward, forwarded, variables, services"
    private static let aTimeout = "a duration from 10 ms to 1 day with its unit, as `30 s` or `10 min`"
    private static let anAddress = "an IP address and a port, as `127.0.0.1:3128`, `[::1]:3128` or `localhost:3128`"
    private static let aBaseURL = "an absolute http or https URL, as `https://api.example.com/v1/`"
    private static let aPattern = "a pattern of URLs, as `/users/*` or `https://*.example.com/**`"

    /// A service `a` with one block, which stands at line 5, column 9.
    private static func service(_ text: String) -> String {
        "services:\n  a:\n    baseURL: http://a/\n    \(text)\n"
    }

    private static func block(_ text: String) -> String {
        "services:\n  a:\n    baseURL: http://a/\n    configure:\n      - \(text)\n"
    }
}

extension Mistake {
    /// Everything that is told, with the fixture's directory left out.
    fileprivate var all: [String] {
        let advice = (advice ?? "-").replacing(#/\/\S*\/larder.yaml/#, with: "larder.yaml")
        return ["\(line):\(column)", setting, found, expected, suggestion ?? "-", advice]
    }
}
