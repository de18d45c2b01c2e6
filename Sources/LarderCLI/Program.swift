// SPDX-License-Identifier: Apache-2.0

@main
struct Program {
    static func main() {
        let loader = SettingsLoader(file: CommandLine.arguments.dropFirst().first, overrides: Array(CommandLine.arguments.dropFirst(2)), environment: ProcessInfo.processInfo.environment)
        do { print(SettingsCatalogue.show(try loader.load().settings).yaml) } catch { print(error) }
    }
}
import Foundation
import LarderProxy
