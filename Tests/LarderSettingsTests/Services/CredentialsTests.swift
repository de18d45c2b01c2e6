// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderSettings
import LarderUpstream
import Testing

@Suite("The credentials of a service's own")
struct CredentialsTests {
    private func service(_ change: (inout ServiceSettings) -> Void = { _ in }) -> ServiceSettings {
        var service = ServiceSettings()
        service.privacy = .private
        service.configure = [ConfigureBlock()]
        change(&service)
        return service
    }

    private func header(_ name: FieldName, _ value: Secret?) -> ServiceSettings {
        service { $0.configure[0].headers = [HeaderEdit(name: name, value: value)] }
    }

    @Test func `they are fields that name a credential or have a value from elsewhere, and what they are for`() {
        let plain = service().credentials(VariableValues())
        #expect(header("X-Kind", Secret("a")).credentials(VariableValues()) == plain)
        for other in [
            header(.authorization, Secret("a")), header(.authorization, nil),
            header("X-Kind", Secret("a", reference: "${file:/a}")),
        ] {
            #expect(other.credentials(VariableValues()) != plain)
            #expect(other.hasCredentials())
            var narrower = other
            narrower.configure[0].pattern.match = "/a"
            #expect(narrower.credentials(VariableValues()) != other.credentials(VariableValues()))
        }
        #expect(!service().hasCredentials())
        #expect(
            header(.authorization, Secret("a")).credentials(VariableValues())
                != header(.authorization, Secret("b"))
                .credentials(VariableValues()))
    }

    @Test func `a user at a proxy of the service's own and a certificate are credentials`() throws {
        func through(_ proxy: String) throws -> ServiceSettings {
            let address = try ParentAddress(reading: proxy)
            return service { $0.parent = .proxy(address) }
        }
        let (ann, bob) = (try through("http://ann:1@proxy:1"), try through("http://bob:2@proxy:1"))
        #expect(ann.credentials(VariableValues()) != bob.credentials(VariableValues()))
        #expect(try through("http://proxy:1").credentials(VariableValues()) == service().credentials(VariableValues()))
        #expect(
            service().credentials(VariableValues(), certificate: "a")
                != service().credentials(VariableValues(), certificate: "b"))
    }

    @Test func `what is for everyone has none, unless the program says so of some URLs`() {
        var service = header(.authorization, Secret("a"))
        service.privacy = .shared
        #expect(service.credentials(VariableValues()) == nil)
        #expect(!service.hasCredentials())
        #expect(service.credentials(VariableValues(), saysPrivacyByURL: true) != nil)
        #expect(service.hasCredentials(saysPrivacyByURL: true))
    }
}
