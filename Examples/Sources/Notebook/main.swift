// SPDX-License-Identifier: Apache-2.0

// A script, as one would keep in a notebook: `Notebook URL` follows a list from page to page (`Link: <…>; rel="next"`)
// and prints what it found.

import Larder

let service = Service("notebook")
service.configure { $0.fields[.accept] = "application/json" }

var page: Resource? = service.resource(absoluteURL: CommandLine.arguments.dropFirst().first)
var count = 0
while let current = page {
    do throws(RequestError) {
        let items = try await current.load().entity().jsonArray
        count += items.count
        for item in items { print(item["name"]?.string ?? item.description) }
    } catch {
        print("\(error)")
        break
    }
    page = current.optionalRelative(current.latestData?.link("next"))
}
print("\(count) in all")
