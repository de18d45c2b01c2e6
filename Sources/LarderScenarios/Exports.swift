// SPDX-License-Identifier: Apache-2.0

@_exported package import LarderPeers
@_exported package import LarderTesting
