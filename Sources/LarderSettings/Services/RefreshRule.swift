// SPDX-License-Identifier: Apache-2.0

import Larder
package import LarderHTTP
package import LarderTransformers

/// How a credential that origins refuse is replaced.
package struct RefreshRule: Sendable, Equatable {
    /// The statuses by which an origin refuses a credential.
    package var onStatus: [Status] = [401]
    /// The URL of the request for a new credential: a path below the base URL, or an absolute URL.
    package var url = RefreshURL.placeholder
    package var method = Method.post
    package var headers: [HeaderEdit] = []
    /// Members of a JSON object.
    package var json: [RefreshParameter] = []
    /// Parameters of a form.
    package var form: [RefreshParameter] = []
    /// The variables that get new values, and where the response contains them.
    package var store: [RefreshTarget] = []

    package init() {}

    /// Identifies a refresh within its service.
    package var name: String { store.map(\.variable).joined(separator: " ") + " from " + url.text }

    package var variables: [String] { store.map(\.variable) }

    /// Those, and the ones that the request has.
    package var usedVariables: Set<String> { requestVariables.union(variables) }

    /// The variables that the request has: by them the origin knows whose credential it renews.
    package var requestVariables: Set<String> {
        let secrets = (json + form).map(\.value) + headers.compactMap(\.value)
        return Set(secrets.flatMap(\.variables))
    }
}

/// A path below a base URL, or an absolute URL.
package struct RefreshURL: Sendable, Equatable {
    package let text: String
    /// nil for a path.
    private let absolute: TargetURI?

    // Holds: the path is valid.
    static let placeholder = RefreshURL("/")!

    package init?(_ text: String) {
        self.text = text
        if text.hasPrefix("/"), !text.hasPrefix("//") {
            guard (try? TargetURI("http://h" + text)) != nil else { return nil }
            absolute = nil
        } else {
            guard let uri = try? TargetURI(text) else { return nil }
            absolute = uri
        }
    }

    package func resolved(below base: TargetURI) -> TargetURI? {
        if let absolute { return absolute }
        var uri = TargetURI()
        let octets = Array(text.utf8)
        do throws(URIError) {
            try octets.withUnsafeBufferPointer { bytes throws(URIError) in
                try uri.set(base: base, pathAndQuery: UnsafeRawBufferPointer(bytes))
            }
            return uri
        } catch {
            return nil
        }
    }
}

/// A name and a value to send.
package struct RefreshParameter: Sendable, Equatable {
    package var name: String
    package var value: Secret
    /// A JSON value without quotes: a number, `true`, `false`.
    package var isLiteral = false

    package init(name: String, value: Secret, isLiteral: Bool = false) {
        self.name = name
        self.value = value
        self.isLiteral = isLiteral
    }
}

/// A variable, and the location of its value in a response (RFC 6901).
package struct RefreshTarget: Sendable, Equatable {
    package var variable: String
    package var pointer: JSONPointer

    package init(variable: String, pointer: JSONPointer) {
        self.variable = variable
        self.pointer = pointer
    }
}
