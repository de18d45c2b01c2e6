// SPDX-License-Identifier: Apache-2.0
public import Larder

/// A user, as far as this program looks at one.
public struct User: Codable, Sendable, Equatable {
    public let login: String
    public let name: String?
    public let followers: Int
}

/// The API: one service, and a member for each resource.
public struct GitHub: Sendable {
    public let service: Service

    public init(
        baseURL: String = "https://api.github.com", token: String? = nil,
        transport: any UpstreamTransport = OriginTransport.shared
    ) {
        service = Service("github", baseURL: baseURL, transport: transport)
        service.configure("**") {
            $0.fields[.accept] = "application/vnd.github+json"
            if let token { $0.fields[.authorization] = "Bearer \(token)" }
            $0.expirationTime = .seconds(600)
        }
        service.configureTransformer("/users/*", .decodable(User.self))
        // The API's own message about an error is better than the status's phrase.
        service.configure("**") {
            $0.pipeline[.cleanup].add(
                ClosureTransformer("GitHub's messages") { response in
                    guard case .failure(var error) = response, let message = error.json?["message"]?.string else {
                        return response
                    }
                    error.userMessage = message
                    return .failure(error)
                })
        }
    }

    public func user(_ login: String) -> TypedResource<User> { service.resource("users").child(login).typed() }
}
