// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderRules
import LarderSettings
import LarderTesting
import Testing

@testable import Larder
@testable import LarderProxy

/// Services as requests find them.
struct Services {
    let table: ServiceTable

    init(_ services: (name: String, base: String, mount: String?)...) {
        var number: UInt32 = 0
        func routed(_ name: String, _ base: String?, _ mount: String?) -> RoutedService {
            var settings = ServiceSettings()
            settings.name = name
            settings.mount = mount
            number += 1
            return RoutedService(
                Service(name, baseURL: base, transport: StubTransport()), number: number, settings: settings,
                targets: [],
                identities: .ephemeral(), parent: { _ in nil })
        }
        table = ServiceTable(
            services: services.map { routed($0.name, $0.base, $0.mount) }, unclaimed: routed("-", nil, nil))
    }

    static let usual = Services(
        ("api", "https://api.example/v1/", nil), ("deep", "https://api.example/v1/deep/", nil),
        ("other", "http://other.example:8080/", "/o/t/"), ("rest", "http://rest.example/", "/o/"))
}

@Suite("Routing")
struct RouterTests {
    let router = Router(
        table: Services.usual.table, connectPorts: [PortRange(443), PortRange("8000-8010")!],
        hosts: [HostPattern(host: "larder.lan")])
    let local = Router.Client(isLoopback: true, localHost: "127.0.0.1", localPort: 3128)
    let remote = Router.Client(isLoopback: false, localHost: "192.0.2.1", localPort: 3128)

    /// The outcome of a request: `service way URL [spelling]`, or what else.
    func route(
        _ target: String, host: String? = "localhost:3128", _ method: LarderHTTP.Method = .get,
        from client: Router.Client? = nil, router: Router? = nil
    ) -> String {
        var head = RequestHead(method: method, target: target)
        if let host { head.fields[.host] = host }
        var uri = TargetURI()
        var spelling: [UInt8] = []
        var known = KnownHost()
        return outcome(
            (router ?? self.router).route(head, from: client ?? local, uri: &uri, spelling: &spelling, host: &known),
            uri, spelling)
    }

    func outcome(_ route: Route, _ uri: TargetURI, _ spelling: [UInt8]) -> String {
        switch route {
        case .larder: return "larder"
        case .resource(let service, let form):
            return "\(service.name) \(form) \(uri)"
                + (spelling.isEmpty ? "" : " as \(String(decoding: spelling, as: UTF8.self))")
        case .tunnel(let authority): return "tunnel \(authority)"
        case .capabilities: return "capabilities"
        case .refused(let problem): return "\(problem.status.rawValue)"
        }
    }

    @Test(arguments: [
        ("http://anywhere.example/a", "- forward http://anywhere.example/a"),
        ("HTTP://Anywhere.Example:80/a?b", "- forward http://anywhere.example/a?b"),
        ("http://anywhere.example", "- forward http://anywhere.example/"),
        ("https://api.example/v1/users", "api forward https://api.example/v1/users"),
        ("https://api.example/v1", "api forward https://api.example/v1"),
        ("https://api.example/v1x", "- forward https://api.example/v1x"),
        ("https://api.example/v1/deep/x", "deep forward https://api.example/v1/deep/x"),
        ("https://api.example/v1/deeper", "api forward https://api.example/v1/deeper"),
        ("https://api.example/v1/../v2/x", "- forward https://api.example/v2/x"),
        ("https://api.example/v1/%2E%2e/v2/x", "- forward https://api.example/v2/x"),
        ("https://api.example:443/v1/", "api forward https://api.example/v1/"),
        ("http://api.example/v1/", "- forward http://api.example/v1/"),
        ("http://a.example/%7Ea", "- forward http://a.example/~a as /%7Ea"),
        ("http://a.example/%c3%a4?x=%2f", "- forward http://a.example/%C3%A4?x=%2F as /%c3%a4?x=%2f"),
        ("http://a.example/%C3%A4", "- forward http://a.example/%C3%A4"),
        ("http://a.example/x/%2e%2E/y%7e", "- forward http://a.example/y~"),
        ("http://me@a.example/", "400"), ("http:///a", "400"), ("ftp://a.example/", "400"),
        ("http://a.example:99999/", "400"),
        ("http://a.example/a b", "400"), ("http://a.example/\\", "400"),
    ]) func `a forward proxy's request goes where its URL says`(target: String, expected: String) {
        #expect(route(target, host: "whatever.example") == expected)
    }

    @Test(arguments: [
        ("/api/users/7?x", "api mount https://api.example/v1/users/7?x"),
        ("/api/", "api mount https://api.example/v1/"),
        ("/api", "api mount https://api.example/v1/"), ("/api?x=1", "api mount https://api.example/v1/?x=1"),
        ("/apix", "404"), ("/API/x", "404"), ("/deep/x", "deep mount https://api.example/v1/deep/x"),
        ("/o/t/x", "other mount http://other.example:8080/x"), ("/o/tx", "rest mount http://rest.example/tx"),
        ("/o/t", "rest mount http://rest.example/t"), ("/api/../v2/x", "api mount https://api.example/v1/v2/x"),
        ("/api/%2e%2e/x", "api mount https://api.example/v1/x"),
        ("/api/a%7Eb", "api mount https://api.example/v1/a~b as /v1/a%7Eb"),
        ("/api//x", "api mount https://api.example/v1//x"),
        ("/", "larder"), ("/favicon.ico", "larder"), ("/-/status", "larder"), ("/-", "larder"), ("/-x", "404"),
        ("/x", "404"),
    ]) func `a gateway's request goes to the longest mount`(target: String, expected: String) {
        #expect(route(target) == expected)
    }

    @Test func `a mount at the root takes all but Larder's own paths`() {
        let services = Services(("all", "http://all.example/", "/"), ("api", "http://api.example/", nil))
        let router = Router(table: services.table, connectPorts: [], hosts: [])
        #expect(route("/", router: router) == "all mount http://all.example/")
        #expect(route("/x/y?z", router: router) == "all mount http://all.example/x/y?z")
        #expect(route("/api/x", router: router) == "api mount http://api.example/x")
        #expect(route("/-/status", router: router) == "larder")
    }

    @Test(arguments: [
        ("api.localhost:3128", "/users", "api name https://api.example/v1/users"),
        ("API.localhost", "/users", "api name https://api.example/v1/users"),
        ("api.localhost", "/-/status", "api name https://api.example/v1/-/status"),
        ("api.localhost", "/a%7Eb", "api name https://api.example/v1/a~b as /v1/a%7Eb"),
        ("none.localhost", "/api/x", "421"), ("none.localhost", "/-/status", "421"), ("-.localhost", "/x", "421"),
        ("x.api.localhost", "/x", "421"),
    ]) func `a service's name as host leads to it`(host: String, target: String, expected: String) {
        #expect(route(target, host: host) == expected)
    }

    @Test(arguments: [
        ("localhost", "larder"), ("LOCALHOST:99", "larder"), ("127.0.0.1:3128", "larder"), ("127.1.2.3", "larder"),
        ("[::1]:3128", "larder"),
        ("larder.lan", "larder"), ("evil.example", "421"), ("127.0.0.1.evil.example", "421"),
        ("localhost.evil.example", "421"),
        ("192.168.0.1", "421"), ("evil.example:3128", "421"),
    ]) func `only Larder's own names reach Larder`(host: String, expected: String) {
        #expect(route("/", host: host) == expected)
        #expect(route("/-/status", host: host) == expected)
        #expect(route("/api/x", host: host) == (expected == "421" ? "421" : "api mount https://api.example/v1/x"))
    }

    @Test func `what is known of a connection's host is true of that host, and of that configuration, alone`() {
        var known = KnownHost()
        func ask(_ router: Router, _ host: String, _ target: String) -> String {
            var uri = TargetURI()
            var spelling: [UInt8] = []
            let head = RequestHead(target: target, fields: [.host: host])
            return outcome(router.route(head, from: local, uri: &uri, spelling: &spelling, host: &known), uri, spelling)
        }
        for _ in 0..<2 {
            #expect(ask(router, "new.localhost", "/api/x") == "421")
            #expect(ask(router, "localhost", "/api/x") == "api mount https://api.example/v1/x")
            #expect(ask(router, "evil.example", "/api/x") == "421")
            #expect(ask(router, "api.localhost", "/x") == "api name https://api.example/v1/x")
        }
        let changed = Services(("new", "http://new.example/", nil))
        #expect(
            ask(Router(table: changed.table, connectPorts: []), "new.localhost", "/x")
                == "new name http://new.example/x")
        var old: Router? = Router(table: Services.usual.table, connectPorts: [])
        #expect(ask(old!, "new.localhost", "/api/x") == "421")
        old = nil
        // A router that may well have been put where the old one was.
        for _ in 0..<100 {
            #expect(
                ask(Router(table: changed.table, connectPorts: []), "new.localhost", "/x")
                    == "new name http://new.example/x")
            #expect(
                ask(Router(table: Services.usual.table, connectPorts: []), "localhost", "/api/x")
                    == "api mount https://api.example/v1/x")
        }
    }

    @Test func `absolute-form that names Larder itself is the gateway's business`() {
        #expect(route("http://localhost:3128/api/x") == "api mount https://api.example/v1/x")
        #expect(route("http://127.0.0.1:3128/-/status") == "larder")
        #expect(route("http://api.localhost:3128/x") == "api name https://api.example/v1/x")
        #expect(route("http://localhost:3129/api/x") == "- forward http://localhost:3129/api/x")
        #expect(route("https://localhost:3128/api/x") == "- forward https://localhost:3128/api/x")
    }

    @Test func `a Larder for its services alone forwards nothing else`() {
        let closed = Router(table: Services.usual.table, connectPorts: [], forwardsToAnyHost: false)
        #expect(route("http://any.example/", router: closed) == "403")
        #expect(route("https://api.example/v1/x", router: closed) == "api forward https://api.example/v1/x")
    }

    @Test func `a client from elsewhere may name the address it came to`() {
        #expect(route("/-/status", host: "192.0.2.1:3128", from: remote) == "larder")
        #expect(route("/-/status", host: "192.0.2.2:3128", from: remote) == "421")
        #expect(route("/", host: nil) == "larder")
    }

    @Test(arguments: [
        ("/https/any.example/a?b", "- anyHost https://any.example/a?b"),
        ("/http/any.example:8080", "- anyHost http://any.example:8080/"),
        ("/http/any.example%3A8080/a", "- anyHost http://any.example:8080/a"),
        ("/http/any.example%3a8080", "- anyHost http://any.example:8080/"), ("/http/any%3Aexample/", "400"),
        ("/http/any.example?x", "- anyHost http://any.example/?x"),
        ("/https/api.example/v1/x", "api anyHost https://api.example/v1/x"),
        ("/https/https://x/", "404"), ("/http/HTTPS:/x/", "404"), ("/https//x", "400"), ("/https/", "400"),
        ("/https/me@any.example/", "400"),
        ("/ftp/any.example/", "404"),
        ("/http/any.example/%7E", "- anyHost http://any.example/~ as /%7E"),
    ]) func `the gateway to any host`(target: String, expected: String) {
        #expect(route(target) == expected)
    }

    @Test func `the gateway to any host is for clients on this machine, and can be closed`() {
        #expect(route("/https/any.example/", host: "192.0.2.1", from: remote) == "403")
        let closed = Router(table: Services.usual.table, connectPorts: [], gatewayToAnyHost: false)
        #expect(route("/https/any.example/", router: closed) == "403")
        #expect(route("/http/any.example/", router: closed) == "403")
    }

    @Test(arguments: [true, false]) func `the advice at an unknown path leads somewhere`(isOpen: Bool) throws {
        let router = Router(table: Services.usual.table, connectPorts: [], gatewayToAnyHost: isOpen)
        for client in [local, remote] {
            var (uri, spelling, known) = (TargetURI(), [UInt8](), KnownHost())
            let head = RequestHead(target: "/x", fields: [.host: client.localHost])
            let route = router.route(head, from: client, uri: &uri, spelling: &spelling, host: &known)
            guard case .refused(let problem) = route else { throw Unexpected() }
            #expect(problem.advice.contains("/https/<host>/") == (isOpen && client == local))
        }
    }

    private struct Unexpected: Error {}

    @Test(arguments: [
        ("any.example:443", true, "tunnel any.example:443"), ("any.example:8005", true, "tunnel any.example:8005"),
        ("any.example:8011", true, "403"), ("any.example:25", true, "403"),
        ("localhost:5000", true, "tunnel localhost:5000"),
        ("127.0.0.1:5000", true, "tunnel 127.0.0.1:5000"), ("localhost:25", true, "403"),
        ("localhost:5000", false, "403"),
        ("any.example:443", false, "tunnel any.example:443"), ("any.example", true, "400"),
        ("any.example:0", true, "400"),
        ("http://any.example/", true, "400"), ("/x", true, "400"),
    ]) func `CONNECT leads to the ports that are allowed`(target: String, isLocal: Bool, expected: String) {
        #expect(route(target, .connect, from: isLocal ? local : remote) == expected)
    }

    @Test func `the admin surface's own listener serves nothing else`() {
        let admin = Router.Client(isLoopback: true, isAdminOnly: true, localHost: "localhost", localPort: 3128)
        #expect(route("/-/status", host: "evil.example", from: admin) == "larder")
        #expect(route("/api/x", from: admin) == "larder")
        #expect(route("http://any.example/", from: admin) == "421")
        #expect(route("any.example:443", .connect, from: admin) == "421")
    }

    @Test func `OPTIONS asks about Larder, or about a server as a whole`() {
        #expect(route("*", .options) == "capabilities")
        #expect(route("*", .get) == "400")
        #expect(route("http://any.example", .options) == "- forward http://any.example/ as *")
        #expect(route("http://any.example/", .options) == "- forward http://any.example/")
    }

    @Test(arguments: [
        ("https--any-example.localhost:3128", "/a?b", "- hostName https://any.example/a?b"),
        ("http-8080--any-example.localhost", "/", "- hostName http://any.example:8080/"),
        ("HTTPS--Any-Example.localhost:3128", "/-/status", "- hostName https://any.example/-/status"),
        ("https--api-example.localhost", "/v1/users", "api hostName https://api.example/v1/users"),
        ("https--a---b.localhost", "/-/status", "400"), ("https--a.b.localhost", "/", "400"),
        ("api.localhost", "/x", "api name https://api.example/v1/x"),
    ]) func `a name for any host leads there`(host: String, target: String, expected: String) {
        #expect(route(target, host: host) == expected)
        // As a URL in full, too; and no host seen before on the connection makes a difference.
        var head = RequestHead(method: .get, target: "/-/x")
        head.fields[.host] = "localhost:3128"
        var (uri, spelling, known) = (TargetURI(), [UInt8](), KnownHost())
        for name in ["localhost:3128", host, "localhost:3128", host] {
            head.fields[.host] = name
            head.target = Array(target.utf8)
            let route = router.route(head, from: local, uri: &uri, spelling: &spelling, host: &known)
            if name == host { #expect(outcome(route, uri, spelling) == expected) }
        }
    }

    @Test func `names for any host are for this machine, and can be closed`() {
        #expect(route("/a", host: "https--any-example.localhost", from: remote) == "403")
        let closed = Router(table: Services.usual.table, connectPorts: [], gatewayToAnyHost: false)
        #expect(route("/a", host: "https--any-example.localhost", router: closed) == "403")
    }

    @Test(arguments: [
        (true, true, "tunnel any.example:443"), (true, false, "403"), (false, true, "403"), (false, false, "403"),
    ]) func `where no host but the services' may be named, CONNECT names none either`(
        gateway: Bool, forward: Bool, expected: String
    ) {
        let router = Router(
            table: Services.usual.table, connectPorts: [PortRange(443), PortRange(8080), PortRange(8443)],
            gatewayToAnyHost: gateway, forwardsToAnyHost: forward)
        #expect(route("any.example:443", .connect, router: router) == expected)
        #expect(route("api.example:443", .connect, router: router) == "tunnel api.example:443")
        #expect(route("other.example:8080", .connect, router: router) == "tunnel other.example:8080")
        let isOpen = gateway && forward
        #expect(route("api.example:8443", .connect, router: router) == (isOpen ? "tunnel api.example:8443" : "403"))
        #expect(route("localhost:3000", .connect, router: router) == (isOpen ? "tunnel localhost:3000" : "403"))
    }

    @Test(arguments: ["localhost:3000", "127.0.0.1:443", "[::1]:8001", "x.localhost:443", "127.9.9.9:5000"])
    func `tunnels to this machine can be closed`(target: String) {
        let open = Router(table: Services.usual.table, connectPorts: [PortRange(443)])
        let closed = Router(table: Services.usual.table, connectPorts: [PortRange(443)], tunnelsToLoopback: false)
        #expect(route(target, .connect, router: open).hasPrefix("tunnel "))
        #expect(route(target, .connect, router: closed) == "403")
        #expect(route("any.example:443", .connect, router: closed) == "tunnel any.example:443")
    }
}
