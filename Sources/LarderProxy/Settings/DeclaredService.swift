// SPDX-License-Identifier: Apache-2.0

package import Larder

/// A service that the program itself brings along. Configuration files may say more about it.
package struct DeclaredService: Sendable {
    package let name: String
    package let baseURL: String
    package let mount: String?
    /// Adds configuration to a service of that name.
    package let configure: @Sendable (Service) -> Void

    package init(name: String, baseURL: String, mount: String?, configure: @escaping @Sendable (Service) -> Void) {
        self.name = name
        self.baseURL = baseURL
        self.mount = mount
        self.configure = configure
    }
}
