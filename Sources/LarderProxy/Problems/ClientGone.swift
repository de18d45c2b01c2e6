// SPDX-License-Identifier: Apache-2.0

/// The client left while its response was awaited.
struct ClientGone: Error {}
