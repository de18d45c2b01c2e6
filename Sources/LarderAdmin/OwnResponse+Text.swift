// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy

extension OwnResponse {
    init(text: String) { self.init(type: "text/plain; charset=utf-8", text.utf8) }

    init(json: JSONValue) { self.init(type: "application/json", json.pretty) }
}
