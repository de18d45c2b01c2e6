// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import LarderCLI
@testable import LarderSettings

@Suite("Catalogue of settings")
struct SettingsCatalogueTests {
    @Test func `what is shown of the defaults reads back as the defaults`() throws {
        let shown = SettingsCatalogue.show(Settings())
        let fixture = try ConfigurationFixture(shown.yamlBlock)
        let read = try fixture.settings()
        var resolved = Settings()
        resolved.admin.socket = read.admin.socket
        resolved.cache.path = read.cache.path
        #expect(SettingsCatalogue.show(read).yaml == SettingsCatalogue.show(resolved).yaml)
    }

    @Test func `what is shown of a full configuration reads back as the same`() throws {
        let first = try SettingsCatalogueTests.fixture(SettingsCatalogueTests.everything)
        let shown = SettingsCatalogue.show(try first.settings())
        // Secrets are not shown; what stands in their place is too short for some of them.
        let secret = "a-secret-of-enough-length"
        let second = try SettingsCatalogueTests.fixture(shown.yamlBlock.replacing("[redacted]", with: secret))
        #expect(SettingsCatalogue.show(try second.settings()).yamlBlock == shown.yamlBlock)
        let inline = try SettingsCatalogueTests.fixture(shown.yaml.replacing("[redacted]", with: secret))
        #expect(SettingsCatalogue.show(try inline.settings()).yamlBlock == shown.yamlBlock)
    }

    @Test func `every setting can be set, and each changes what is shown`() throws {
        let fixture = try SettingsCatalogueTests.fixture(SettingsCatalogueTests.everything)
        let shown = SettingsCatalogue.show(try fixture.settings())
        let names = Set(SettingsCatalogueTests.leaves(of: shown, below: ""))
        let missing = SettingsReference.flat.map(\.name).filter { name in
            // The settings of a preset are shown in its place, and a token where it is sent (`PresetTests`).
            !["services.<name>.preset", "services.<name>.token"].contains(name)
                && !names.contains { $0 == name || $0.hasPrefix(name + ".") || $0.hasPrefix(name + "[") }
        }
        #expect(missing == [])
        let defaults = SettingsCatalogue.show(Settings())
        for name in SettingsCatalogueTests.leaves(of: defaults, below: "") {
            #expect(
                SettingsCatalogueTests.value(name, in: shown) != SettingsCatalogueTests.value(name, in: defaults),
                "\(name) is not changed by the configuration of this test")
        }
    }

    @Test func `names are unique, and what has one prefix stands together`() {
        let names = SettingsReference.flat.map(\.name)
        #expect(Set(names).count == names.count)
        let groups = SettingsCatalogue.descriptions.map { String($0.name.prefix { $0 != "." }) }
        let runs = groups.indices.filter { $0 == 0 || groups[$0] != groups[$0 - 1] }.map { groups[$0] }
        #expect(Set(runs).count == runs.count)
    }

    @Test func `every setting is explained in sentences`() {
        for setting in SettingsReference.flat {
            #expect(setting.text.hasSuffix("."), "\(setting.name)")
            #expect(setting.text.first?.isUppercase == true || setting.text.first == "`", "\(setting.name)")
            #expect(!setting.initially.isEmpty, "\(setting.name)")
        }
    }

    @Test func `the reference page, the list and the JSON name every setting`() throws {
        let list = SettingsReference.text(SettingsReference.flat)
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(SettingsReference.json(SettingsReference.flat).utf8))
                as? [[String: Any]])
        #expect(json.compactMap { $0["name"] as? String } == SettingsReference.flat.map(\.name))
        for setting in SettingsReference.flat {
            let name = ["services.<name>.", "variables.<name>.", "configure[]."].reduce(setting.name) {
                $0.replacing($1, with: "")
            }
            #expect(SettingsReference.markdown.contains("\n| `\(name)` |"), "\(setting.name)")
            #expect(list.contains("\(setting.name)\n"), "\(setting.name)")
        }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: referencePage.path)))
    func `the committed reference page is what the catalogue says`() throws {
        let page = try String(contentsOf: SettingsCatalogueTests.referencePage, encoding: .utf8)
        #expect(page == SettingsReference.markdown, "write it anew with `larder settings --markdown`")
    }

    private static let referencePage = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("docs/configuration.md")

    /// The users' file is named, but not read.
    private static func fixture(_ yaml: String) throws -> ConfigurationFixture {
        var fixture = try ConfigurationFixture(yaml)
        fixture.loader.readsUsers = false
        return fixture
    }

    /// A value for every setting, none of them the default.
    static let everything = """
        listen: ["127.0.0.1:1", "[::1]:2"]
        threads: 3
        admin: { socket: /run/x.sock, socketMode: 0660, socketGroup: staff, lanes: no,
                 listen: ["127.0.0.1:9"], token: a-token }
        cache:
          path: /var/x
          disk: 1 GiB
          memory: 2 MiB
          inlineLimit: 3 KiB
          maxObject: 4 MiB
          targets: [Larder-Cache-Control]
          surrogateKey: xkey
          hideSurrogateKey: true
        sharedCache:
          url: "rediss+cluster://a:1,b:2"
          username: larder
          password: a-password
          namespace: team-a
          key: a-key-of-the-team
          timeout: 30 ms
          maxObject: 2 MiB
          share: all
          tls: { caFile: /etc/engine.pem }
        timeouts:
          head: 1 s
          idle: 2 s
          body: 3 s
          write: 4 s
          connect: 5 s
          upstream: 6 s
          upstreamIdle: 7 s
          upstreamRest: 2 ms
          tunnelIdle: 8 s
          drain: 9 s
          abandon: 0
        limits:
          connections: 1
          clientConnections: 2
          clientRequests: 2
          reservedConnections: 3
          headSize: 32 KiB
          fieldLines: 20
          targetLength: 1 KiB
          upstreamConnections: 2
          tunnels: 3
          transformedContent: 3 MiB
          transforming: 5 MiB
        log: { level: debug, access: true, format: json, accessFormat: squid, accessFile: /var/log/x }
        trace: { otlp: "http://localhost:4318", sample: 0.5, serviceName: here, headers: { X-Team: us } }
        upstream:
          caFile: /etc/ca.pem
          systemTrust: false
          parent: "http://proxy.test:3128"
          noProxy: ["*.corp.test"]
          breaker: { failures: 7, openFor: 1 min }
          retryAfterLimit: 2 h
        tunnels: { ports: [443, 8000-8099], loopback: false }
        intercept: { hosts: [api.test], except: [login.test], services: true, retreat: 5 min }
        tls:
          listen: ["127.0.0.1:3129"]
          certificate: /etc/tls.pem
          key: /etc/tls.key
          certificates: { /etc/other.pem: /etc/other.key }
          clientCA: /etc/clients.pem
        access: { allow: [192.0.2.0/24, "fd00::/8"], users: /etc/users }
        gateway: { anyHost: false, hosts: [larder.test] }
        forward: { anyHost: false }
        forwarded: add
        offline: auto
        codings: [gzip, br]
        variables:
          aToken: { env: HOME, onChange: [wipeAll] }
          bToken: { file: /proc/sys/kernel/ostype }
          cToken: { value: c }
        services:
          team:
            baseURL: https://team.test/
            privacy: partitioned
            identity: [Authorization]
            shared: true
          all:
            baseURL: https://api.test/v1
            mount: /all-of/it/
            privacy: partitioned
            identity: [X-Api-Key, "cookie: session", client]
            ignoreQuery: ["utm_*", fbclid]
            quota: { reserve: 10 }
            prices: { model: { input: 2.5, output: 10 } }
            allowHosts: [cdn.test]
            browsers: { allow: ["http://localhost:5173"] }
            parent: none
            tls: { caFile: /etc/a.pem, certificate: /etc/c.pem, key: /etc/k.pem, serverName: api.inner }
            offline: true
            history: 5
            standardTransformers: [json]
            routes:
              - from: "/u/{id}"
                to: "/users/{id}"
                setQuery: { page: "1" }
                addQuery: { key: "a b" }
                removeQuery: [utm_source]
            configure:
              - headers: { User-Agent: "it's: #1", X-Removed: null }
              - match: "**"
                except: /b
                regex: "^https://"
                query: { a: "1", b: "*", c: null }
                scheme: https
                host: api.test
                methods: [GET, X-OWN]
                description: "yes"
                expirationTime: { 200: 1 h, 404: 1 min, time: 10 min, mode: cap }
                ignoreRequest: [no-cache, pragma]
                ignoreResponse: [no-store, "vary: [User-Agent]"]
                everyone: true
                retryTime: 30 s
                staleWhileRevalidate: 1 min
                staleIfError: 1 day
                cache: none
                history: 2
                offline: false
                keyedByContent: true
                keyedContentLimit: 64 KiB
                ignoreContent: [user]
                streamEnd: ["[DONE]"]
                replay: paced
                onChange: { exec: [/usr/bin/logger, "a b"], webhook: "https://hooks.test/x?y=1", debounce: 2 s }
                links: true
                followRedirects: true
                codings: [zstd, gzip]
                reloadOnRecovery: true
                refreshAhead: daily 06:30
                pipeline: { model: [ { jq: .a } ] }
                serve: model
                transformTimeout: 1 s
                transformedSizeLimit: 1 MiB
                decorate:
                  deny: { status: 451, message: "not here" }
                  delay: 2 s
                  retry: { attempts: 5, backoff: 1 s, maxBackoff: 20 s, within: 30 s, on: [429, unreachable] }
                  refreshToken:
                    onStatus: [401, 403]
                    url: https://login.test/token
                    method: PUT
                    headers: { X-From: larder }
                    json: { user: anna, age: 7, isPatient: true, nickname: "null", secret: "${cToken}" }
                    store: { aToken: /access_token }
                afterWrite: { action: reload, also: ["/users/**"] }
              - url: https://api.test/v1/one?a=b
                override: true
                decorate:
                  refreshToken:
                    url: /token
                    form: { grant_type: client_credentials }
                    store: { bToken: "/a/b" }
                  respond: { status: 418, headers: { Content-Type: text/plain }, body: short and stout }
        """

    /// The full names of what is set, in the catalogue's form.
    private static func leaves(of value: ShownValue, below name: String) -> [String] {
        switch value {
        case .map(let entries):
            entries.flatMap { entry in
                let key = name == "services" || name == "variables" ? "<name>" : entry.name
                return leaves(of: entry.value, below: name.isEmpty ? key : "\(name).\(key)")
            }
        case .list(let values) where name.hasSuffix("configure") || name.hasSuffix("routes"):
            values.flatMap { leaves(of: $0, below: name + "[]") }
        default: [name]
        }
    }

    private static func value(_ name: String, in shown: ShownValue) -> ShownValue? {
        name.split(separator: ".").reduce(shown as ShownValue?) { value, part in
            guard case .map(let entries)? = value else { return nil }
            return entries.first { $0.name == part }?.value
        }
    }
}
