// SPDX-License-Identifier: Apache-2.0

import Larder

extension Configuration {
    /// Whether a program's mutators or decorators take part in requests.
    var isProgrammed: Bool { !mutators.isEmpty || !decorators.isEmpty }
}
