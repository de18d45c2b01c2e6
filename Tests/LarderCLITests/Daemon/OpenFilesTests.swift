// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import LarderCLI

@Suite("The limit on open files")
struct OpenFilesTests {
    @Test func `the limit is raised to what the administrator allows`() {
        let hard = Int(clamping: OpenFilesTests.limit().rlim_max)
        #expect(OpenFiles.raiseLimit() == hard)
        #expect(Int(clamping: OpenFilesTests.limit().rlim_cur) == hard)
    }

    @Test func `too few for the connections is said, with what to do`() {
        #expect(OpenFiles.shortage(limit: 1_024, connections: 1_000)?.contains("LimitNOFILE") == true)
        #expect(OpenFiles.shortage(limit: 2_256, connections: 1_000) == nil)
    }

    private static func limit() -> rlimit {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
        return limit
    }
}
