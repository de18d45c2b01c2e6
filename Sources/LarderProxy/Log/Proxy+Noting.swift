// SPDX-License-Identifier: Apache-2.0

extension Proxy {
    /// Records a note of an exchange, and reports it to observers.
    func note(_ note: RequestNote) {
        let numbered = requests.add(note)
        if requests.isHeard { events.tell(numbered) }
    }
}
