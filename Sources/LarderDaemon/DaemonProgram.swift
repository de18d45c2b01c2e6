// SPDX-License-Identifier: Apache-2.0

import LarderCLI
import LarderProxy

/// A program that is the `larder` command with services of its own: the same commands, options and configuration
/// files.
///
///     @main
///     struct Pantry: DaemonProgram {
///         var services: [any DaemonService] { [Weather()] }
///     }
public protocol DaemonProgram {
    init()
    /// The services that are there whatever a configuration file says.
    var services: [any DaemonService] { get }
}

extension DaemonProgram {
    /// Does what the command line says; `serve` runs the daemon until it is told to stop.
    // What begins a program has no caller to inherit a place from.
    @concurrent
    public static func main() async {
        await Program.run(
            declaring: Self().services.map { service in
                DeclaredService(name: service.name, baseURL: service.baseURL, mount: service.mount) {
                    service.configure($0)
                }
            })
    }
}
