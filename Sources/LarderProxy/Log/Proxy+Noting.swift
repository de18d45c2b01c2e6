// SPDX-License-Identifier: Apache-2.0

extension Proxy {
    /// Keeps a note of an exchange, and tells those who listen.
    func note(_ note: RequestNote) {
        let numbered = requests.add(note)
        if requests.isHeard { events.tell(numbered) }
    }
}
