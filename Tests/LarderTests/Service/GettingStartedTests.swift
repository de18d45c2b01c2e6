// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import Testing

@Suite("The article for newcomers")
struct GettingStartedTests {
    private struct Report: Sendable {
        let temperature: Double
        let wind: Double
    }

    @Test func `TR-02 SV-08 what the article shows works`() async throws {
        let transport = StubTransport()
        transport.reply(
            .get, "https://weather.example/v1/stations/oslo", .json(#"{"temperature":-3.5,"wind":7}"#), .json("{}"))
        let token = "t"

        let weather = Service("weather", baseURL: "https://weather.example/v1", transport: transport)
        let oslo = weather.resource("stations/oslo")
        #expect(oslo === weather.resource("stations").child("oslo"))
        weather.configure("**") {
            $0.fields[.authorization] = "Bearer \(token)"
            $0.expirationTime = .seconds(60)
        }
        weather.configure("/stations/*/history") { $0.expirationTime = .seconds(3_600) }
        weather.configureTransformer("/stations/*") { (entity: Entity<JSONValue>) -> Report? in
            guard let temperature = entity.content["temperature"]?.double, let wind = entity.content["wind"]?.double
            else {
                return nil
            }
            return Report(temperature: temperature, wind: wind)
        }

        let report = try await oslo.typed(as: Report.self).load().content
        #expect(report.temperature == -3.5)
        #expect(report.wind == 7)
        #expect(transport.sent.first?.fields[.authorization] == "Bearer t")
        await oslo.load().response()
        #expect(oslo.latestError?.stage == .model)
        #expect(oslo.latestError?.transformer == "transformer JSONValue → Report")
        #expect(oslo.typedContent(as: Report.self)?.wind == 7)
        #expect(oslo.child("history").configuration.expirationTime == .seconds(3_600))
    }
}
