// SPDX-License-Identifier: Apache-2.0

import LarderSettings
import Testing

@testable import LarderCLI

@Suite("Secrets")
struct SecretTests {
    @Test func `variables and files are put in where they are named`() throws {
        let fixture = try ConfigurationFixture(
            """
            admin: { token: "${TOKEN}" }
            services:
              a:
                baseURL: http://${HOST}/
                configure:
                  - headers: { Authorization: "Bearer ${file:key}", X: "$${TOKEN} costs $5" }
            """, environment: ["TOKEN": "t0ken", "HOST": "a.test"])
        let key = try fixture.write("k3y\n", to: "key")
        var loader = fixture.loader
        loader.environment["CREDENTIALS_DIRECTORY"] = fixture.directory
        let settings = try loader.load().settings
        #expect(settings.admin.token?.reveal() == "t0ken")
        #expect(settings.services[0].baseURL.description == "http://a.test/")
        let values = settings.services[0].configure[0].headers.map { $0.value?.reveal() }
        #expect(values == ["Bearer k3y", "${TOKEN} costs $5"])

        loader.overrides = ["admin.token='${file:\(key)}'"]
        #expect(try loader.load().settings.admin.token?.reveal() == "k3y")
    }

    @Test func `CF-16 a variable takes precedence over the environment, and its value stays out of the text`() throws {
        let fixture = try ConfigurationFixture(
            """
            variables:
              TOKEN: { file: token }
              user: { env: USER_NAME }
              later: {}
            services:
              a:
                baseURL: http://a/
                configure:
                  - headers: { Authorization: "${user} ${TOKEN}${HOST}" }
            """, environment: ["TOKEN": "of the environment", "HOST": "!", "USER_NAME": "anna"])
        _ = try fixture.write("hush\n", to: "token")
        var loader = fixture.loader
        loader.environment["CREDENTIALS_DIRECTORY"] = fixture.directory
        loader.overrides = [
            "variables.more.value=x", "services.b={ baseURL: 'http://b/', configure: [{ headers: { X: '${more}' } }] }",
        ]
        let settings = try loader.load().settings
        let header = try #require(settings.services[0].configure[0].headers[0].value)
        #expect(header.variables == ["user", "TOKEN"])
        #expect(header.reveal() == " !")
        #expect(header.reference == "${user} ${TOKEN}${HOST}")
        #expect(settings.services[1].configure[0].headers[0].value?.variables == ["more"])
        #expect(settings.variables.map { $0.initial?.reveal() } == ["hush", "anna", nil, "x"])
        let shown = SettingsCatalogue.show(settings).yamlBlock
        #expect(!shown.contains("hush") && !shown.contains("anna"))
    }

    @Test func `what is put in is not read for references again`() throws {
        let fixture = try ConfigurationFixture(
            "admin: { token: \"${A}\" }\n", environment: ["A": "${B}", "B": "hush"])
        #expect(try fixture.settings().admin.token?.reveal() == "${B}")
    }

    @Test(arguments: [
        ("${file:gone}", "`${file:gone}`, but CREDENTIALS_DIRECTORY is not set"),
        ("${file:/nowhere/gone}", "`${file:/nowhere/gone}`, but there is no such file"),
        ("${file:/}", "`${file:/}`, but it is not a file"),
        ("${A-B}", "the reference `${…}` to something that is not a name"),
        ("${}", "the reference `${…}` to something that is not a name"),
        ("${1A}", "the reference `${…}` to something that is not a name"),
    ])
    func `a reference that leads nowhere is told by its name`(reference: String, found: String) throws {
        let fixture = try ConfigurationFixture("admin: { token: \"\(reference)\" }\n")
        #expect(fixture.problems().map(\.found) == [found])
    }

    @Test func `what refers to something that is not there is named, and not missing as well`() throws {
        let fixture = try ConfigurationFixture(
            """
            sharedCache: { url: "redis://localhost:6379", key: "${file:/nowhere/gone}" }
            services: { a: { baseURL: "http://a/", configure: [{ headers: { X: "${GONE}" } }] } }
            """)
        #expect(fixture.problems().map(\.setting) == ["sharedCache.key", "services.a.configure[0].headers.X"])
    }

    @Test func `a misspelt variable is told with the one that was meant`() throws {
        let fixture = try ConfigurationFixture(
            "admin: { token: \"${GITHUB_TOKE}\" }\n", environment: ["GITHUB_TOKEN": "hush"])
        #expect(fixture.problems().map(\.suggestion) == ["${GITHUB_TOKEN}"])
    }

    @Test func `a secret file above the limit is refused`() throws {
        let fixture = try ConfigurationFixture("admin: { token: \"${file:big}\" }\n")
        _ = try fixture.write(String(repeating: "x", count: SecretReferences.fileLimit + 1), to: "big")
        var loader = fixture.loader
        loader.environment["CREDENTIALS_DIRECTORY"] = fixture.directory
        #expect {
            try loader.load()
        } throws: { error in
            "\(error)".contains("it is larger than 64 KiB")
        }
    }

    /// Each place a secret can be written in, right and wrong.
    @Test(arguments: [
        "admin: { token: \"${S}\" }", "admin: { token: \"${S} with blanks\" }", "admin: \"${S}\"",
        "admin: { token: { a: \"${S}\" } }", "threads: ${S}", "timeouts: { head: \"${S}\" }",
        "timeouts: { head: \"5${S}\" }", "cache: { disk: \"1 ${S}\" }", "cache: { path: \"${S}\" }",
        "listen: [\"${S}\"]", "upstream: { parent: \"http://u:${S}@proxy.test\" }",
        "upstream: { parent: \"${S}://proxy.test\" }", "log: { level: \"${S}\" }",
        "services: { a: { baseURL: \"http://u:${S}@a/\" } }", "services: { a: { baseURL: \"${S}\" } }",
        "services: { a: { baseURL: \"http://a/?key=${S}\" }, b: { baseURL: \"http://a/?key=${S}\" } }",
        "services: { a: { baseURL: \"http://a/\", mount: \"/${S}\" } }",
        "services: { a: { baseURL: \"http://a/\", configure: [ { headers: { X: \"${S}\" } } ] } }",
        "services: { a: { baseURL: \"http://a/\", configure: [ { headers: { X: \"\\n${S}\" } } ] } }",
        "services: { a: { baseURL: \"http://a/\", configure: [ { headers: { X: [\"${S}\"] } } ] } }",
        "services: { a: { baseURL: \"http://a/\", configure: [ { regex: \"(${S}\" } ] } }",
        "admin: { token: s3cret-value }", "admin: { token: s3cret-value with blanks }",
        "admin: { token: [s3cret-value] }", "admin: s3cret-value",
        "upstream: { parent: \"http://u:s3cret-value@p.test\" }",
        "upstream: { parent: \"ftp://u:s3cret-value@p.test\" }",
        "services: { a: { baseURL: \"http://u:s3cret-value@a/\" } }",
        "services: { a: { baseURL: \"http://a/\", configure: [ { headers: { Authorization: s3cret-value } } ] } }",
        "services: { a: { baseURL: \"http://a/\", configure: [ { headers: { X-API-Key: s3cret-value } } ] } }",
        "admin: { token: \"s3cret-value }", "admin: { token: s3cret-value", "admin: { token: @s3cret-value }",
    ])
    func `nothing that is printed holds a secret`(yaml: String) throws {
        let fixture = try ConfigurationFixture(yaml, environment: ["S": "s3cret-value"])
        var printed = ""
        do throws(SettingsProblems) {
            let loaded = try fixture.loader.load()
            dump(loaded, to: &printed)
            let shown = SettingsCatalogue.show(loaded.settings)
            printed += "\(loaded)\(loaded.settings)\(shown)\(shown.yamlBlock)\(shown.yaml)\(shown.json)\(loaded.notes)"
        } catch {
            dump(error, to: &printed)
            printed += "\(error)\(error.problems)"
        }
        // The configuration value itself keeps a URL's query; only pages and messages must leave it out.
        let isKept = yaml.contains("?key=") && !printed.contains("found")
        #expect(isKept || !printed.contains("s3cret-value"), "\(printed)")
    }

    @Test func `a secret compares as a whole`() {
        let secret = Secret("abc")
        #expect(secret.matches(Array("abc".utf8)))
        for other in ["", "ab", "abcd", "abcabc", "abd", "ABC"] { #expect(!secret.matches(Array(other.utf8))) }
        #expect(!Secret("").matches([]))
    }
}
