// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The driver of libFuzzer, which this program is linked with.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// The target that was asked for. Written once, before the driver runs; the driver is single-threaded.
nonisolated(unsafe) private var chosen: FuzzTarget = .all[0]

/// `LarderFuzz TARGET [LIBFUZZER-ARGUMENT …]`
@main
enum Program {
    static func main() {
        guard CommandLine.argc >= 2, let name = CommandLine.unsafeArgv[1].map({ String(cString: $0) }),
            let target = FuzzTarget.all.first(where: { $0.name == name })
        else {
            print("usage: LarderFuzz TARGET [ARGUMENT …], where TARGET is one of:")
            for target in FuzzTarget.all { print("  \(target.name)") }
            exit(2)
        }
        chosen = target
        // The driver sees the arguments without the target.
        var arguments = CommandLine.unsafeArgv + 1
        arguments[0] = CommandLine.unsafeArgv[0]
        var count = CommandLine.argc - 1
        let status = withUnsafeMutablePointer(to: &arguments) { pointer in
            pointer.withMemoryRebound(
                to: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.self, capacity: 1
            ) {
                runDriver(&count, $0) { octets, size in
                    chosen.runTimed(UnsafeRawBufferPointer(start: octets, count: size))
                    return 0
                }
            }
        }
        exit(status)
    }
}
