// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderUpstream

extension Proxy {
    /// Waits until every loop uses the configuration that was applied last.
    package func settle() async {
        for context in contexts { await context.turn() }
    }

    /// Releases the former configuration, with its transformers and their programs, from all Resources: a Resource
    /// without requests would keep it. Removes the state of origins under its TLS settings.
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
