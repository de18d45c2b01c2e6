// SPDX-License-Identifier: Apache-2.0

import Glibc

/// This process's resource usage according to the kernel, read without disk access.
package struct ProcessUsage: Sendable {
    /// Octets of memory in use; nil where the kernel does not report it.
    package var residentBytes: Int64?
    /// Processor time since the start, in seconds.
    var processorSeconds: Double

    package init() {
        residentBytes = ProcessUsage.pages().map { $0 * Int64(sysconf(Int32(_SC_PAGESIZE))) }
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        processorSeconds = ProcessUsage.seconds(usage.ru_utime) + ProcessUsage.seconds(usage.ru_stime)
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

    /// The second number of `/proc/self/statm`.
    private static func pages() -> Int64? {
        let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = read(descriptor, &bytes, bytes.count)
        let numbers = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        return numbers.count > 1 ? Int64(numbers[1]) : nil
    }
}
