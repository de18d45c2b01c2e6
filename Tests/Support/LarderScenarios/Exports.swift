// SPDX-License-Identifier: Apache-2.0

@_exported public import LarderPeers
@_exported public import LarderTesting
