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

        let list = "https://weather.example/v1/stations"
        transport.reply(.get, list, .text("1", [.link: "<stations?page=2>; rel=\"next\""]))
        transport.reply(.get, list + "?page=2", .text("2"))
        var pages = ""
        var page: Resource? = weather.resource("stations")
        while let current = page {
            await current.loadIfNeeded()?.response()
            pages += current.text
            page = current.optionalRelative(current.latestData?.link("next"))
        }
        #expect(pages == "12")
        #expect(oslo.child("history").configuration.expirationTime == .seconds(3_600))
    }
}
