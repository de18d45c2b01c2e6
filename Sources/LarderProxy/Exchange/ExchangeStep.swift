// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// A step of an exchange, with the objects of the exchange that it uses.
protocol ExchangeStep {
    var exchange: Exchange { get }
}

extension ExchangeStep {
    var request: ClientRequest { exchange.request }
    var writer: ResponseWriter { exchange.writer }
    var watch: ClientWatch { exchange.watch }
    var context: LoopContext { exchange.context }
    var stream: ByteStream { exchange.stream }
    var connection: DownstreamConnection { exchange.connection }
}
