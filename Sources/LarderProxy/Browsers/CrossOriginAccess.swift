// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderSettings

/// The fields that allow a page of another origin to read a response (Fetch §3.3).
///
/// An origin behind the gateway cannot know which pages are allowed, so its own CORS fields are replaced.
struct CrossOriginAccess {
    let origin: WebOrigin

    /// How long a browser caches a preflight response, in seconds.
    private static let preflightAge = "600"
    /// Fields that Larder appends to a response.
    private static let ownNames = ["Age", "Cache-Status", "Proxy-Status", "Via"]

    /// Allows the page to read the response and all of these fields.
    func apply(to fields: inout Fields) {
        fields.removeAll { name, spelling, _ in
            name == .accessControlAllowOrigin
                || name == nil && CrossOriginAccess.replaced.contains(FieldName(token: spelling))
        }
        // With credentials an asterisk would be taken literally (Fetch §3.3.2).
        var names = CrossOriginAccess.ownNames
        fields.forEachLine { name, spelling, _ in
            guard name != .setCookie else { return }
            let written = String(decoding: spelling, as: UTF8.self)
            if !names.contains(written) { names.append(written) }
        }
        allow(in: &fields)
        fields["Access-Control-Expose-Headers"] = names.joined(separator: ", ")
        fields["Cross-Origin-Resource-Policy"] = "cross-origin"
    }

    /// The response to a preflight request (Fetch §4.8): any request may be sent.
    func preflight(_ request: Fields) -> Fields {
        var fields = Fields()
        allow(in: &fields)
        fields["Access-Control-Allow-Methods"] = request[PageFields.requestMethod]
        fields["Access-Control-Allow-Headers"] = request["Access-Control-Request-Headers"]
        if request["Access-Control-Request-Private-Network"] == "true" {
            fields["Access-Control-Allow-Private-Network"] = "true"
        }
        fields["Access-Control-Max-Age"] = CrossOriginAccess.preflightAge
        fields[.cacheControl] = "no-store"
        return fields
    }

    private func allow(in fields: inout Fields) {
        fields[.accessControlAllowOrigin] = "\(origin)"
        fields["Access-Control-Allow-Credentials"] = "true"
        CrossOriginAccess.vary(&fields)
    }

    /// Makes a response vary by the page's origin, so that a browser does not reuse it for another.
    static func vary(_ fields: inout Fields) {
        let named = fields[all: .vary].joined(separator: ", ")
        let names = named.lowercased().split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
        guard !names.contains("origin"), !names.contains("*") else { return }
        fields[.vary] = named.isEmpty ? "Origin" : named + ", Origin"
    }

    private static let replaced: Set<FieldName> = [
        "Access-Control-Allow-Credentials", "Access-Control-Expose-Headers", "Access-Control-Allow-Methods",
        "Access-Control-Allow-Headers", "Access-Control-Max-Age", "Access-Control-Allow-Private-Network",
        "Cross-Origin-Resource-Policy",
    ]
}
