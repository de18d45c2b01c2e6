// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The one object in memory that stands for one URL of one service, for one partition.
public final class Resource: Sendable {
    package let key: ResourceKey
    package let partition: Partition
    package let url: TargetURI
    package let memory = ResourceMemory()

    package init(key: ResourceKey, partition: Partition, url: TargetURI) {
        self.key = key
        self.partition = partition
        self.url = url
    }
}
