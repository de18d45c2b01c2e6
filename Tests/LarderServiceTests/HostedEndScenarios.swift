// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderAdmin
import LarderIO
import LarderProxy
import LarderSettings
import LarderTesting
import Logging
import Testing

/// What a program does with its service fails, instead of waiting, where no daemon comes or the daemon has ended.
@Suite("Scenarios: programs without their daemon", .timeLimit(.minutes(2)))
struct HostedEndScenarios {
    /// A configuration whose program, with `loads`, loads while it is asked for its service.
    private static func settings(_ loads: Recorder<Request>?) throws -> Settings {
        var settings = Settings()
        settings.listen = [.loopback(port: 0)]
        settings.threads = 1
        settings.cache.path = .none
        var shop = ServiceSettings()
        shop.name = "shop"
        shop.baseURL = try BaseURL.read("http://127.0.0.1:1/").get()
        shop.declare = { service in
            if let loads { ask(service, loads) }
        }
        settings.services = [shop]
        return settings
    }

    private static func ask(_ service: Service, _ loads: Recorder<Request>) {
        loads(service.resource("/load").load())
        loads(service.resource("/request").request(.get))
    }

    private static func expectErrors(_ loads: Recorder<Request>) async {
        #expect(loads.values.count == 2)
        for load in loads.values {
            if case .success = await load.response().response { Issue.record("\(load) is done by no daemon") }
        }
    }

    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test func `a daemon without its shared tier fails before it asks programs`() throws {
        let loads = Recorder<Request>()
        var settings = try Self.settings(loads)
        settings.sharedCache.url = EngineURL("rediss://127.0.0.1:1")
        settings.sharedCache.key = Secret("0123456789abcdef")
        settings.sharedCache.caFile = "/nowhere/ca.pem"
        #expect(throws: (any Error).self) { try Daemon(settings: settings, logger: Self.logger) }
        #expect(loads.values.isEmpty)
    }

    @Test func `a daemon that never starts leaves nobody waiting`() async throws {
        let loads = Recorder<Request>()
        let daemon = try Daemon(settings: try Self.settings(loads), logger: Self.logger)
        await daemon.proxy.drain()
        await Self.expectErrors(loads)
    }

    @Test(arguments: [false, true]) func `a daemon that has ended does nothing more`(canListen: Bool) async throws {
        var settings = try Self.settings(nil)
        let taken = try ListeningSocket.tcp(.loopback(port: 0))
        if !canListen { settings.listen = [taken[0].address] }
        let daemon = try Daemon(settings: settings, logger: Self.logger)
        let hasStarted = (try? await daemon.proxy.start()) != nil
        // Optimized code would have closed it before.
        withExtendedLifetime(taken) { #expect(hasStarted == canListen) }
        await daemon.proxy.drain()
        let loads = Recorder<Request>()
        Self.ask(try #require(daemon.proxy.configuration.router.table.named("shop")).service, loads)
        await Self.expectErrors(loads)
    }
}
