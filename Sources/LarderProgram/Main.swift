// SPDX-License-Identifier: Apache-2.0

import LarderCLI

/// The `larder` command, whose services are those of the configuration.
@main
struct Main {
    static func main() async { await Program.run(declaring: []) }
}
