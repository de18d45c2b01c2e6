// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The destination of a request.
package enum Route: Sendable {
    /// To Larder itself: the first page, or something under `/-/`.
    case larder
    /// To a Resource; its URI has been written into the exchange's.
    case resource(RoutedService, RequestForm)
    /// A tunnel to this authority (CONNECT).
    case tunnel(Authority)
    /// `OPTIONS *`: Larder's own capabilities.
    case capabilities
    case refused(Problem)
}

/// The form in which a request named its target, which determines the form of URLs in its response.
package enum RequestForm: Sendable, Equatable {
    /// Absolute-form: the client knows the origin's URLs.
    case forward
    /// Origin-form through a service's mount: `/github/…` represents the base URL.
    case mount
    /// Origin-form with the service's name as host: `http://github.localhost:3128/…`.
    case name
    /// Origin-form through `/https/<host>/…` or `/http/<host>/…`.
    case anyHost
    /// Origin-form with the encoded name of any host as host: `http://https--api-example-com.localhost:3128/…`.
    case hostName

    package var isGateway: Bool { self != .forward }

    /// True if the client named a service, and not an origin.
    var namesService: Bool { self == .mount || self == .name }

    /// True if documents requested this way would share an origin in a browser, Larder's own.
    var sharesOrigin: Bool { self == .mount || self == .anyHost }
}
