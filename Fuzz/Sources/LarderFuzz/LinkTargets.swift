// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
@testable import LarderProxy
import LarderSettings

/// Links in content are the same however it arrives, and the work of finding them is bounded by its length.
func links(_ input: UnsafeRawBufferPointer) {
    var scanner = LinkScanner(gatewayMap)
    var whole = scanner.take(input)
    whole += scanner.take([], isLast: true)
    require(scanner.work <= 16 * input.count + 400 * 1000, "each byte is read a few times")
    scanner = LinkScanner(gatewayMap)
    var pieces: [UInt8] = []
    var start = 0
    for cut in cuts(input) {
        pieces += scanner.take(input[start..<cut])
        start = cut
    }
    pieces += scanner.take([], isLast: true)
    require(pieces == whole, "links are found whatever the pieces are")
}

/// Fields with URLs, and cookies, are mapped for clients of the gateway or left out.
///
/// The first byte of the input chooses the field.
func linkFields(_ input: UnsafeRawBufferPointer) {
    let names: [FieldName] = [.location, .contentLocation, .refresh, .link, .setCookie]
    guard let first = input.first, !input.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) else { return }
    var fields = Fields()
    fields.append(names[Int(first) % names.count], bytes: UnsafeRawBufferPointer(rebasing: input.dropFirst()))
    _ = gatewayMapping.mapped(fields)
}

private let services: ServiceTable = {
    func routed(_ name: String, _ base: String?, _ number: UInt32) -> RoutedService {
        var settings = ServiceSettings()
        settings.name = name
        return RoutedService(
            Service(name, baseURL: base), number: number, settings: settings, targets: [], identities: .ephemeral(),
            parent: { _ in nil })
    }
    // Short names, which the fuzzer finds.
    return ServiceTable(
        services: [routed("a", "http://a/b/", 1), routed("c", "http://c/", 2)], unclaimed: routed("-", nil, 3))
}()

private let page: TargetURI = {
    do { return try TargetURI("http://a/b/c") } catch { return TargetURI() }
}()

private let gatewayMap = LinkMap(
    of: services, for: services.services[0], .mount, authority: "l:1", isSecure: false, at: page)

private let gatewayMapping = GatewayMapping(
    table: services, service: services.services[0], form: .mount, target: page, authority: "l:1")
