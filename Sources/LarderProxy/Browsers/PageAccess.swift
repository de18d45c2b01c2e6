// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderSettings

/// How a response to a request from a web page differs from a program's.
enum PageAccess: Equatable {
    /// Not at all.
    case none
    /// The page is same-origin; pages of other origins get different fields.
    case own
    /// The page is of an origin that the service lists.
    case listed(WebOrigin)

    /// Adds the fields that the browser requires to a response's fields.
    func apply(to fields: inout Fields) {
        switch self {
        case .none: break
        case .own: CrossOriginAccess.vary(&fields)
        case .listed(let origin): CrossOriginAccess(origin: origin).apply(to: &fields)
        }
    }
}

/// Fields about web pages, of browsers and servers.
enum PageFields {
    static let requestMethod: FieldName = "Access-Control-Request-Method"
    static let destination: FieldName = "Sec-Fetch-Dest"
    private static let metadata: Set<FieldName> = [
        "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Sec-Fetch-User", "Sec-Fetch-Storage-Access",
    ]

    /// Makes a browser give a document an opaque origin (CSP Level 3 §6.3.2; HTML §7.1.5): its scripts run, but cannot
    /// read other documents of the same address, nor their cookies and storage.
    static func appendSandbox(to out: inout [UInt8]) {
        out.append(sandbox)
    }

    private static let sandbox: StaticString = """
        Content-Security-Policy: sandbox allow-scripts allow-forms allow-modals allow-popups \
        allow-popups-to-escape-sandbox allow-downloads\r\n
        """

    /// Removes all fields that identify the page of a request: they do not concern another origin.
    static func removeAll(from fields: inout Fields) {
        fields.removeAll { name, spelling, _ in
            name == .origin || name == .referer || isMetadata(name, spelled: spelling)
        }
    }

    /// True if a field is one of Fetch Metadata Request Headers §2.
    static func isMetadata(_ name: FieldName?, spelled spelling: UnsafeRawBufferPointer) -> Bool {
        name == .secFetchSite || name == nil && metadata.contains(FieldName(token: spelling))
    }
}
