// SPDX-License-Identifier: Apache-2.0

// Everything of the model once, against a notice board: `Tour URL`.

import Larder

struct Post: Codable, Sendable {
    let id: Int
    let text: String
}

struct Board: Sendable {
    let service: Service
    let drafts = MemoryCache<JSONValue>(limit: 100)

    init(_ baseURL: String) {
        service = Service("board", baseURL: baseURL)
        let login = TokenRefresh(
            makeRequest: { $0.resource("/login").request(.post, urlEncoded: ["user": "ann"]) },
            readToken: { $0.json?["token"]?.string })
        service.configure("**") {
            $0.fields[.userAgent] = "tour"
            $0.expirationTime = .seconds(60)
            $0.mutateRequests { if $0.fields[.accept] == nil { $0.fields[.accept] = "application/json" } }
        }
        service.configure("/posts/**") { [drafts] in
            $0.fields[.authorization] = login.token.map { "Bearer \($0)" }
            $0.decorateRequests(login.decorate)
            $0.pipeline[.parsing].cacheUsing(drafts)
            $0.afterWrite = .init(.invalidate, also: ["/posts"])
        }
        service.configureTransformer("/posts/*", .decodable(Post.self))
        service.configureTransformer("/posts") { (json: JSONValue, _) in json.array?.count }
    }

    var posts: TypedResource<Int> { service.resource("/posts").typed() }
    func post(_ id: Int) -> TypedResource<Post> { service.resource("/posts").child("\(id)").typed() }
}

let board = Board(CommandLine.arguments.dropFirst().first ?? "http://localhost:8000")
let first = board.post(1)
let events = first.base.events()
let watching = Task {
    var told: [String] = []
    for await update in events {
        told.append(update.event.name)
        if update.event == .newData(.wipe) { break }
    }
    return told
}

do {
    // A first request is refused, a token is got, and the request made again; the second load asks nobody.
    print(try await first.loadIfNeeded().content.text, first.base.loadIfNeeded() == nil)
    // Confirmed by its validator; hooks are called one after the other, and before who waits.
    try await first.base.load().onNotModified { print("as it was") }.onCompletion { _ in print("asked") }.entity()
    // A write that others depend on, and a chain of requests.
    print(try await board.posts.loadIfNeeded().content, "posts", board.posts.base.isUpToDate)
    let write = first.base.request(.put, json: Post(id: 1, text: "hello again"))
    try await write.chained { info in
        if case .success = info.response { .passTo(first.base.load()) } else { .useThisResponse }
    }.entity()
    print(first.content?.text ?? "nothing", board.posts.base.isUpToDate)
    // Data survives an error; content of one's own stands in until the next load.
    await first.base.load(using: first.base.child("none").request(.get)).response()
    print(first.content?.text ?? "nothing", first.base.latestError?.status ?? 200)
    first.base.overrideLocalContent(with: Post(id: 1, text: "mine"))
    print(first.content?.text ?? "nothing", first.base.withParam("as", "text").url.string.hasSuffix("?as=text"))
} catch {
    print(error)
}
first.base.wipe(.memoryAndCaches)
print(await watching.value.joined(separator: " "))
