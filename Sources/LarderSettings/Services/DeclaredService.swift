// SPDX-License-Identifier: Apache-2.0

package import Larder

/// A service supplied by the program itself. Configuration files may add to it.
package struct DeclaredService: Sendable {
    package let name: String
    package let baseURL: String
    package let mount: String?
    /// Adds configuration to the service of that name.
    package let configure: @Sendable (Service) -> Void

    package init(name: String, baseURL: String, mount: String?, configure: @escaping @Sendable (Service) -> Void) {
        self.name = name
        self.baseURL = baseURL
        self.mount = mount
        self.configure = configure
    }
}
