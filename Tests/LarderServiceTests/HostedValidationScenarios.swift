// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderTesting
import Testing

/// A 304 to a request that Larder made without conditions.
@Suite("Scenarios: a 304 that nobody asked for")
struct HostedValidationScenarios {
    private static let passing = "Cache-Control: no-store"

    /// Runs a service whose mutators add a condition once the test has one.
    private func run(_ body: (Scenario, Service, Lock<String?>) async throws -> Void) async throws {
        let tag = Lock<String?>(nil)
        try await HostedConfigurationScenarios.run { service in
            service.configure { configuration in
                configuration.pipeline.add(.json)
                configuration.mutateRequests { request in
                    if let tag = tag.withLock({ $0 }) { request.fields[.ifNoneMatch] = tag }
                }
            }
        } _: { (scene, service) async throws in
            try await body(scene, service, tag)
        }
    }

    private func answer(_ scene: Scenario, _ status: Int) {
        scene.origin.answer { _ in
            status == 304
                ? .response(304, Self.passing, "ETag: \"1\"", "X-Round: 2")
                : .ok(Self.passing, "Content-Type: application/json", "ETag: \"1\"", content: "[1]")
        }
    }

    @Test(arguments: [nil, "\"1\""])
    func `RS-14 without data it is an error`(condition: String?) async throws {
        try await run { (scene, service, tag) async throws in
            tag.withLock { $0 = condition }
            answer(scene, 304)
            let resource = service.resource("/a")
            let info = await resource.load().response()
            guard case .failure(let error) = info.response else { return #expect(Bool(false), "\(info)") }
            #expect(error.cause is NoLocalDataFor304 && error.status == 304)
            #expect(resource.latestData == nil && resource.latestError?.cause is NoLocalDataFor304)
        }
    }

    @Test(arguments: [nil, "\"2\""])
    func `RS-12 RS-14 data that it says nothing about stays`(condition: String?) async throws {
        try await run { (scene, service, tag) async throws in
            answer(scene, 200)
            let resource = service.resource("/a")
            let token = resource.observe { _, _ in }
            #expect(try await resource.load().entity().json == [1])
            tag.withLock { $0 = condition }
            answer(scene, 304)
            let info = await resource.load().response()
            guard case .failure(let error) = info.response else { return #expect(Bool(false), "\(info)") }
            #expect(error.cause is NoLocalDataFor304)
            #expect(resource.latestData?.json == [1] && resource.latestError?.cause is NoLocalDataFor304)
            withExtendedLifetime(token) {}
        }
    }

    @Test func `RS-11 data that the program itself asked about is confirmed`() async throws {
        try await run { (scene, service, tag) async throws in
            answer(scene, 200)
            let resource = service.resource("/a")
            let events = Recorder<String>()
            let token = resource.observe { _, event in events.add(event.description) }
            #expect(try await resource.load().entity().json == [1])
            tag.withLock { $0 = "\"1\"" }
            answer(scene, 304)
            let info = await resource.load().response()
            #expect(!info.isNew && info.response.entity?.json == [1])
            try await eventually("it is heard") { events.values.last == "notModified" }
            #expect(resource.latestData?.json == [1] && resource.latestData?.fields["X-Round"] == "2")
            #expect(resource.latestError == nil)
            withExtendedLifetime(token) {}
        }
    }
}
