// SPDX-License-Identifier: Apache-2.0
package import Larder
import LarderPeers
package import LarderSettings

extension String {
    /// The octets of a response with a length, as a script returns them.
    package static func response(_ status: Int, _ lines: String..., content: String = "") -> String {
        OriginRequest.response(status, lines, content: content)
    }

    /// A 200 with these field lines.
    package static func ok(_ lines: String..., content: String = "") -> String {
        OriginRequest.response(200, lines, content: content)
    }
}

extension Variant {
    /// The content, where it is in memory.
    package var text: String {
        guard case .memory(let chunks, _) = content else { return "(in the store)" }
        return chunks.text
    }
}

extension [ContentChunk] {
    package var text: String { map { String(decoding: $0.bytes, as: UTF8.self) }.joined() }
}

extension Settings {
    /// Adds a service.
    package mutating func add(_ name: String, at base: String, _ change: (inout ServiceSettings) -> Void = { _ in }) {
        var service = ServiceSettings()
        service.name = name
        guard case .success(let url) = BaseURL.read(base) else { return }
        service.baseURL = url
        change(&service)
        services.append(service)
    }
}

extension ServiceSettings {
    /// Adds a block for everything, or for what the pattern describes.
    package mutating func configure(_ change: (inout ConfigureBlock) -> Void) {
        var block = ConfigureBlock()
        change(&block)
        configure.append(block)
    }
}
