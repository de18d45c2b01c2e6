// SPDX-License-Identifier: Apache-2.0

import LarderAdmin
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import Logging

/// Reloads the configuration and applies it to the daemon, or reports why not.
struct Reloader: Sendable {
    let loader: SettingsLoader
    let daemon: Daemon
    let log: DaemonLog
    let accessOutput: AccessOutput
    let notifier: ServiceNotifier

    func reload() async -> Reloading.Attempt {
        notifier.send(
            .reloading(monotonicNanoseconds: SystemTime().monotonic()), .status("Reading the configuration again."))
        let logger = log.logger
        let now = daemon.proxy.now
        do {
            let loaded = try loader.load()
            // Nothing may fail once the daemon has them.
            let accessFile = try accessOutput.opened(loaded.settings.log)
            let waiting = try daemon.reload(loaded.settings)
            await daemon.proxy.settle()
            log.apply(loaded.settings.log)
            accessOutput.use(accessFile, loaded.settings.log, in: daemon.proxy)
            for note in loaded.notes { logger.notice("\(note)") }
            for warning in loaded.warnings { logger.warning("\(warning)") }
            logger.notice("the configuration was read again", metadata: ["file": "\(loaded.file ?? "none")"])
            for name in waiting {
                logger.warning("a changed setting takes effect at the next start", metadata: ["setting": "\(name)"])
            }
            notifier.send(.ready, .status(Reloader.serving(loaded.settings)))
            return Reloading.Attempt(
                at: now, file: loaded.file, searched: loaded.searched, warnings: loaded.warnings.map(\.description),
                waiting: waiting)
        } catch let problems as SettingsProblems {
            for problem in problems.problems { logger.error("\(problem)") }
            refuse(problems.count == 1 ? "one problem" : "\(problems.count) problems", logger)
            return Reloading.Attempt(
                at: now, file: loader.file, problems: problems.description.split(separator: "\n").map(String.init))
        } catch {
            let why = "\(StartFailure.explained(error))"
            logger.error("\(why)")
            refuse("\(error)", logger)
            return Reloading.Attempt(at: now, file: loader.file, problems: [why])
        }
    }

    static func serving(_ settings: Settings) -> String {
        "Serving \(Quantity.plural(settings.services.count, "service"))."
    }

    private func refuse(_ why: String, _ logger: Logger) {
        logger.error("the new configuration was refused; the old one stays in force", metadata: ["why": "\(why)"])
        notifier.send(.ready, .status("Serving by the old configuration: the new one was refused (\(why))."))
    }
}
