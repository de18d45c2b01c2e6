// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The absolute http or https URL that a service's resources lie under: in normal form, and with a path that ends
/// in a slash.
package struct BaseURL: Hashable, Sendable {
    package let target: TargetURI

    package enum Failure: Error, Equatable {
        /// Without `http://` or `https://` in front.
        case relative
        case scheme(String)
        case credentials
        case fragment
        case uri(URIError)
    }

    package static func read(_ text: String) -> Result<BaseURL, Failure> {
        guard let colon = text.firstRange(of: "://") else { return .failure(.relative) }
        let scheme = text[..<colon.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else { return .failure(.scheme(scheme)) }
        guard !text.contains("#") else { return .failure(.fragment) }
        let authorityEnd = text[colon.upperBound...].firstIndex { $0 == "/" || $0 == "?" } ?? text.endIndex
        guard !text[..<authorityEnd].contains("@") else { return .failure(.credentials) }
        let pathEnd = text[authorityEnd...].firstIndex(of: "?") ?? text.endIndex
        let slash = text[authorityEnd..<pathEnd].hasSuffix("/") ? "" : "/"
        do throws(URIError) {
            return .success(BaseURL(target: try TargetURI(text[..<pathEnd] + slash + text[pathEnd...])))
        } catch {
            return .failure(.uri(error))
        }
    }

    private init(target: TargetURI) { self.target = target }

    /// A service's value until its `baseURL` is read; an invalid `baseURL` is refused.
    static let placeholder = BaseURL(target: TargetURI())

    /// The URL for people to see: its query may contain a key.
    package var shown: String {
        target.query == nil ? target.string : target.string.prefix { $0 != "?" } + "?[redacted]"
    }
}

extension BaseURL: CustomStringConvertible {
    package var description: String { shown }
}
