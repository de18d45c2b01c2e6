// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// The beginning of a connection is taken for the same however it arrives: it decides whether it is looked into.
func clientHello(_ input: UnsafeRawBufferPointer) {
    var reader = ClientHello.Reader()
    let whole = reader.read(input)
    reader = ClientHello.Reader()
    var pieces = ClientHello.Reader.Outcome.incomplete
    for cut in cuts(input) where pieces == .incomplete {
        pieces = Array(input[..<cut]).withUnsafeBytes { reader.read($0) }
    }
    require(pieces == whole, "pieces are read as the whole is")
    guard case .hello(let hello) = whole else { return }
    require(input.count >= 5 + 4 + 38, "a message has its fixed parts")
    let name = hello.serverName ?? "none"
    require(!name.isEmpty && name.utf8.allSatisfy { 0x21...0x7E ~= $0 }, "a name is printable")
    require(hello.applicationProtocols?.contains("") != true, "protocols have names")
}
