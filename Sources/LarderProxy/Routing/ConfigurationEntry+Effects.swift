// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import Synchronization

/// The effects of an entry of a program's configuration, found by applying it to nothing else.
extension ConfigurationEntry {
    /// True if the entry sets privacy, regardless of the value before.
    var saysPrivacy: Bool {
        var (shared, own) = (Configuration(), Configuration())
        (shared.privacy, own.privacy) = (.shared, .private)
        apply(&shared)
        apply(&own)
        return shared.privacy == own.privacy
    }

    /// Its settings alone, and whether they are made of a token that is renewed (`TokenRefresh`).
    private var alone: (Configuration, isRenewed: Bool) {
        var configuration = Configuration()
        let notice = TokenRefresh.ReadNotice()
        TokenRefresh.$notice.withValue(notice) { apply(&configuration) }
        return (configuration, notice.wasRead.load(ordering: .relaxed))
    }

    /// True if the entry may add credentials to requests.
    var changesRequests: Bool {
        let configuration = alone.0
        return !configuration.fields.set.isEmpty || !configuration.mutators.isEmpty || !configuration.decorators.isEmpty
    }

    /// The fields with credentials that it sets, in bytes that differ if these do; empty without any. A token that was
    /// renewed is the same user's.
    var lastingCredentials: [UInt8] {
        let (configuration, isRenewed) = alone
        guard !isRenewed else { return [] }
        var octets: [UInt8] = []
        configuration.fields.set.forEachLine { name, spelling, value in
            let name = name ?? FieldName(token: spelling)
            guard SecretName.isOne(field: name) else { return }
            octets += Array("\(description)\n\(name.canonical)\n\(value.count)\n".utf8) + Array(value)
        }
        return octets
    }
}
