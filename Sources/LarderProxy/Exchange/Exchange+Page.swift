// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderSettings

extension Exchange {
    /// Applies the rules for web pages to a gateway request. True when the request was answered here.
    func answerPage(_ service: RoutedService) async throws -> Bool {
        let allowed = service.settings.browsers.allow
        switch PageRequest(head, service: service.base == nil ? nil : service.name, allowed: allowed) {
        case .none: return false
        case .refused(let problem): throw problem
        case .own:
            if !allowed.isEmpty { page = .own }
            // To the origin the page is same-origin.
            if head.fields.contains(.origin) { head.fields[.origin] = uri.origin }
            return false
        case .listed(let origin):
            page = .listed(origin)
            // Larder has decided; the origin does not know such pages.
            head.fields.removeAll { name, spelling, _ in
                name == .origin || PageFields.isMetadata(name, spelled: spelling)
            }
            return false
        case .preflight(let origin):
            record.kind = .own
            var fields = CrossOriginAccess(origin: origin).preflight(head.fields)
            fields[.date] = context.dateText()
            startHead(status: 204, fields: fields)
            finishHead(length: nil)
            try await sendHead()
            return true
        }
    }
}
