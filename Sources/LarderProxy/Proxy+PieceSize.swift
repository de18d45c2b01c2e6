// SPDX-License-Identifier: Apache-2.0

import Larder

extension Proxy {
    /// How much content is buffered for one client at a time: a quarter of the memory tier for all of them together,
    /// within sensible bounds.
    var pieceSize: Int { max(16 << 10, min(256 << 10, registry.limit / 4 / max(1, openConnections))) }
}
