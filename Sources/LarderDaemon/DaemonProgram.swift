// SPDX-License-Identifier: Apache-2.0

import LarderCLI
import LarderSettings

/// A program that extends the `larder` command with its own services. It has the commands, options and configuration
/// files of `larder`.
///
///     @main
///     struct Pantry: DaemonProgram {
///         var services: [any DaemonService] { [Weather()] }
///     }
public protocol DaemonProgram {
    init()
    /// The services that exist with any configuration file.
    var services: [any DaemonService] { get }
}

extension DaemonProgram {
    /// Runs the command; `serve` runs the daemon until it is stopped.
    // An entry point has no caller whose isolation it could inherit.
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
