// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

extension SharedTurn {
    /// Shares a response that was freshened, wherever its content is.
    func give(_ gift: Gift, _ content: VariantContent) {
        switch content {
        case .memory(let chunks, _): give(gift, chunks)
        case .store: give(gift, isFreshened: true) { await Source.open(content) }
        }
    }
}

extension SharedTurn.Source {
    /// Nil when the content cannot be read.
    static func open(_ content: VariantContent?) async -> SharedTurn.Source? {
        guard let content, let cursor = try? await ContentCursor.open(content) else { return nil }
        return SharedTurn.Source(length: content.length) { offset, count in
            var octets: [UInt8] = []
            octets.reserveCapacity(count)
            while octets.count < count {
                let next = try? await cursor.read(at: offset + Int64(octets.count), count: count - octets.count)
                guard let next else { return nil }
                for chunk in next { octets.append(contentsOf: chunk.bytes) }
            }
            return octets.count == count ? octets : nil
        }
    }
}
