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
let events = octocat.base.events()
octocat.base.loadIfNeeded()
for await update in events {
    print(update.event, update.state.isLoading)
    if case .newData = update.event { break }
}
