// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderUpstream

extension Proxy {
    /// Waits until every loop uses the configuration that was applied last.
    package func settle() async {
        for context in contexts { await context.turn() }
    }

    /// Has the Resources let go of the configuration before this one, with its transformers and their programs: one that
    /// nobody asks for would keep it. The state of origins under its TLS settings goes too.
    func forgetFormerConfiguration() async {
        await settle()
        let services = configuration.router.table
        origins.forget(allBut: Set(services.all.compactMap(\.tls)))
        registry.forEach { resource in
            let service = services.numbered(resource.key.serviceNumber)
            resource.memory.forgetConfiguration(before: service?.configurationVersion)
        }
    }
}
