// SPDX-License-Identifier: Apache-2.0
import Larder
import StargazerKit

/// A command-line tool: `Stargazer [--at URL] LOGIN…` says how many followers users of GitHub have.
@main
struct Stargazer {
    static func main() async {
        var logins = Array(CommandLine.arguments.dropFirst())
        var baseURL = "https://api.github.com"
        if logins.first == "--at", logins.count > 1 {
            baseURL = logins[1]
            logins.removeFirst(2)
        }
        let github = GitHub(baseURL: baseURL)
        await withTaskGroup(of: String.self) { group in
            for login in logins {
                group.addTask {
                    do throws(RequestError) {
                        let user = try await github.user(login).loadIfNeeded().content
                        return "\(user.name ?? user.login): \(user.followers)"
                    } catch {
                        return "\(login): \(error.userMessage)"
                    }
                }
            }
            for await line in group { print(line) }
        }
    }
}
