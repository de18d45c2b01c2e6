// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderSettings

extension RoutedService {
    /// Whether users' own parts of the cache are shared with other daemons.
    var sharesPartitions: Bool {
        settings.sharesPartitions && settings.privacy == .partitioned && settings.declare == nil
            && identity?.parts?.isEmpty == false && isKeyedByHead
    }

    /// The identity of a request whose own part of the cache is shared so; nil where it is not. It contains secrets.
    ///
    /// - Parameter partition: of the Resource, which has to be that of this identity and of nothing else.
    func sharedIdentity(of fields: Fields, in partition: Larder.Partition) -> [UInt8]? {
        guard sharesPartitions, configuredCredentials == nil, let identity,
            identity.unnamedCredential(in: fields) == nil
        else { return nil }
        let octets = identity.octets(of: fields, client: nil)
        guard !octets.isEmpty, identities.partition(of: octets) == partition else { return nil }
        return octets
    }
}
