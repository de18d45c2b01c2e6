// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

extension ResponseWriter {
    /// Interim responses are relayed to HTTP/1.1 clients as they arrive; `100` is answered by reading content instead.
    func relayInterim(_ interim: ResponseHead) async throws {
        if let message = interimMessage(interim) { try await interims.send(message) }
    }

    /// The same for a client whose task is waiting for something else: octets the kernel does not accept are sent with
    /// the next write.
    func relayInterimAtOnce(_ interim: ResponseHead) {
        if let message = interimMessage(interim) { interims.sendAtOnce(message) }
    }

    /// An interim response as octets; nil when it is not for this client.
    private func interimMessage(_ interim: ResponseHead) -> [UInt8]? {
        guard request.traits.version == .http11, interim.status != 100, interim.status != 101 else { return nil }
        var fields = interim.fields
        HopByHop.strip(&fields, for: .forwardResponse)
        let table = context.configuration.router.table
        fields = request.mapped(fields, by: table.named(record.service) ?? table.unclaimed)
        var message: [UInt8] = []
        PreparedHead.appendStatusLine(interim.status, to: &message)
        PreparedHead.append(fields, to: &message)
        PreparedHead.appendLineEnd(to: &message)
        return message
    }
}
