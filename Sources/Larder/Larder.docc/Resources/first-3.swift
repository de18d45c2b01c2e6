// SPDX-License-Identifier: Apache-2.0
import Larder

struct User: Codable, Sendable {
    let login: String
    let followers: Int
}

let github = Service("github", baseURL: "https://api.github.com")
github.configure("/users/*") { $0.expirationTime = .seconds(600) }
github.configureTransformer("/users/*", .decodable(User.self))

let octocat = github.resource("/users/octocat").typed(as: User.self)
for _ in 1...2 { print(try await octocat.loadIfNeeded().content.followers) }
print(octocat.base.isUpToDate, octocat.base.latestError?.userMessage ?? "no error")
