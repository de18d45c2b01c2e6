// SPDX-License-Identifier: Apache-2.0
import Larder

let github = Service("github", baseURL: "https://api.github.com")
let octocat = github.resource("/users/octocat")

let entity = try await octocat.load().entity()
print(entity.json?["name"]?.string ?? "nameless")
