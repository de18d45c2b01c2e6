// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Where a request is going.
package enum Route: Sendable {
    /// To Larder itself: the first page, or something under `/-/`.
    case larder
    /// To a Resource; its URI has been written into the exchange's.
    case resource(RoutedService, Way)
    /// Through, to this authority (CONNECT).
    case tunnel(Authority)
    /// `OPTIONS *`: about Larder's own abilities.
    case capabilities
    case refused(Problem)
}

/// Which of the ways in a request took, which says how URLs in its response must read.
package enum Way: Sendable, Equatable {
    /// Absolute-form: the client knows the origin's URLs.
    case forward
    /// Origin-form through a service's mount: `/github/…` stands for the base URL.
    case mount
    /// Origin-form with the service's name as host: `http://github.localhost:3128/…`.
    case name
    /// Origin-form through `/https/<host>/…` or `/http/<host>/…`.
    case anyHost
    /// Origin-form with a name for any host as host: `http://https--api-example-com.localhost:3128/…`.
    case hostName

    package var isGateway: Bool { self != .forward }

    /// Whether documents that came this way would be of one origin in a browser, Larder's own.
    var sharesOrigin: Bool { self == .mount || self == .anyHost }
}
