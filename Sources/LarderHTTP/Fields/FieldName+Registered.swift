// SPDX-License-Identifier: Apache-2.0

extension FieldName {
    /// The registered names in the order of their codes; code 0 represents every other name.
    static let registered: [String] = [
        "",
        "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Accept-Ranges", "Age", "Allow",
        "Alt-Svc", "Authorization", "Cache-Control", "Cache-Status", "CDN-Cache-Control", "Connection",
        "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Length", "Content-Location",
        "Content-Range", "Content-Type", "Cookie", "Date", "ETag", "Expect", "Expires", "Forwarded", "Host",
        "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Keep-Alive",
        "Last-Event-ID", "Last-Modified", "Link", "Location", "Max-Forwards", "Origin", "Pragma",
        "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Authentication-Info", "Proxy-Connection",
        "Proxy-Status", "Range", "Referer", "Retry-After", "Sec-Fetch-Site", "Server", "Set-Cookie",
        "Surrogate-Control", "Cache-Groups", "Cache-Group-Invalidation", "TE", "Trailer", "Transfer-Encoding",
        "Upgrade", "User-Agent", "Vary", "Via", "Warning", "WWW-Authenticate", "X-Forwarded-For",
        "X-Forwarded-Host", "X-Forwarded-Proto", "Content-Digest", "Repr-Digest", "Digest", "Content-MD5",
        "Sec-WebSocket-Key", "Sec-WebSocket-Accept", "Sec-WebSocket-Version", "Sec-WebSocket-Protocol",
        "Sec-WebSocket-Extensions", "Access-Control-Allow-Origin", "Strict-Transport-Security",
        "X-Content-Type-Options", "Content-Security-Policy", "Referrer-Policy", "Larder-Token", "Authentication-Info",
        "Service-Worker", "Service-Worker-Allowed", "Clear-Site-Data", "Set-Cookie2", "Use-As-Dictionary",
        "No-Vary-Search", "Refresh", "Accept-CH", "NEL", "Report-To", "Public-Key-Pins", "Origin-Agent-Cluster",
        "Set-Login", "Sec-Session-Registration", "Sec-Session-Challenge", "Secure-Session-Registration",
        "Secure-Session-Challenge", "Critical-CH", "Activate-Storage-Access", "Attribution-Reporting-Register-Source",
        "Attribution-Reporting-Register-Trigger",
    ]

    /// `Accept` (RFC 9110 §12.5.1).
    @inlinable public static var accept: FieldName { FieldName(code: 1) }
    /// `Accept-Charset` (RFC 9110 §12.5.2).
    @inlinable public static var acceptCharset: FieldName { FieldName(code: 2) }
    /// `Accept-Encoding` (RFC 9110 §12.5.3).
    @inlinable public static var acceptEncoding: FieldName { FieldName(code: 3) }
    /// `Accept-Language` (RFC 9110 §12.5.4).
    @inlinable public static var acceptLanguage: FieldName { FieldName(code: 4) }
    /// `Accept-Ranges` (RFC 9110 §14.3).
    @inlinable public static var acceptRanges: FieldName { FieldName(code: 5) }
    /// `Age` (RFC 9111 §5.1).
    @inlinable public static var age: FieldName { FieldName(code: 6) }
    /// `Allow` (RFC 9110 §10.2.1).
    @inlinable public static var allow: FieldName { FieldName(code: 7) }
    /// `Alt-Svc` (RFC 7838 §3).
    @inlinable public static var altSvc: FieldName { FieldName(code: 8) }
    /// `Authorization` (RFC 9110 §11.6.2).
    @inlinable public static var authorization: FieldName { FieldName(code: 9) }
    /// `Cache-Control` (RFC 9111 §5.2).
    @inlinable public static var cacheControl: FieldName { FieldName(code: 10) }
    /// `Cache-Status` (RFC 9211 §2).
    @inlinable public static var cacheStatus: FieldName { FieldName(code: 11) }
    /// `CDN-Cache-Control` (RFC 9213 §3.1).
    @inlinable public static var cdnCacheControl: FieldName { FieldName(code: 12) }
    /// `Connection` (RFC 9110 §7.6.1).
    @inlinable public static var connection: FieldName { FieldName(code: 13) }
    /// `Content-Disposition` (RFC 6266 §4).
    @inlinable public static var contentDisposition: FieldName { FieldName(code: 14) }
    /// `Content-Encoding` (RFC 9110 §8.4).
    @inlinable public static var contentEncoding: FieldName { FieldName(code: 15) }
    /// `Content-Language` (RFC 9110 §8.5).
    @inlinable public static var contentLanguage: FieldName { FieldName(code: 16) }
    /// `Content-Length` (RFC 9110 §8.6).
    @inlinable public static var contentLength: FieldName { FieldName(code: 17) }
    /// `Content-Location` (RFC 9110 §8.7).
    @inlinable public static var contentLocation: FieldName { FieldName(code: 18) }
    /// `Content-Range` (RFC 9110 §14.4).
    @inlinable public static var contentRange: FieldName { FieldName(code: 19) }
    /// `Content-Type` (RFC 9110 §8.3).
    @inlinable public static var contentType: FieldName { FieldName(code: 20) }
    /// `Cookie` (RFC 6265 §4.2).
    @inlinable public static var cookie: FieldName { FieldName(code: 21) }
    /// `Date` (RFC 9110 §6.6.1).
    @inlinable public static var date: FieldName { FieldName(code: 22) }
    /// `ETag` (RFC 9110 §8.8.3).
    @inlinable public static var eTag: FieldName { FieldName(code: 23) }
    /// `Expect` (RFC 9110 §10.1.1).
    @inlinable public static var expect: FieldName { FieldName(code: 24) }
    /// `Expires` (RFC 9111 §5.3).
    @inlinable public static var expires: FieldName { FieldName(code: 25) }
    /// `Forwarded` (RFC 7239 §4).
    @inlinable public static var forwarded: FieldName { FieldName(code: 26) }
    /// `Host` (RFC 9110 §7.2).
    @inlinable public static var host: FieldName { FieldName(code: 27) }
    /// `If-Match` (RFC 9110 §13.1.1).
    @inlinable public static var ifMatch: FieldName { FieldName(code: 28) }
    /// `If-Modified-Since` (RFC 9110 §13.1.3).
    @inlinable public static var ifModifiedSince: FieldName { FieldName(code: 29) }
    /// `If-None-Match` (RFC 9110 §13.1.2).
    @inlinable public static var ifNoneMatch: FieldName { FieldName(code: 30) }
    /// `If-Range` (RFC 9110 §13.1.5).
    @inlinable public static var ifRange: FieldName { FieldName(code: 31) }
    /// `If-Unmodified-Since` (RFC 9110 §13.1.4).
    @inlinable public static var ifUnmodifiedSince: FieldName { FieldName(code: 32) }
    /// `Keep-Alive` (RFC 9112 §C.2.2).
    @inlinable public static var keepAlive: FieldName { FieldName(code: 33) }
    /// `Last-Event-ID` (HTML, server-sent events).
    @inlinable public static var lastEventID: FieldName { FieldName(code: 34) }
    /// `Last-Modified` (RFC 9110 §8.8.2).
    @inlinable public static var lastModified: FieldName { FieldName(code: 35) }
    /// `Link` (RFC 8288 §3).
    @inlinable public static var link: FieldName { FieldName(code: 36) }
    /// `Location` (RFC 9110 §10.2.2).
    @inlinable public static var location: FieldName { FieldName(code: 37) }
    /// `Max-Forwards` (RFC 9110 §7.6.2).
    @inlinable public static var maxForwards: FieldName { FieldName(code: 38) }
    /// `Origin` (RFC 6454 §7).
    @inlinable public static var origin: FieldName { FieldName(code: 39) }
    /// `Pragma` (RFC 9111 §5.4).
    @inlinable public static var pragma: FieldName { FieldName(code: 40) }
    /// `Proxy-Authenticate` (RFC 9110 §11.7.1).
    @inlinable public static var proxyAuthenticate: FieldName { FieldName(code: 41) }
    /// `Proxy-Authorization` (RFC 9110 §11.7.2).
    @inlinable public static var proxyAuthorization: FieldName { FieldName(code: 42) }
    /// `Proxy-Authentication-Info` (RFC 9110 §11.7.3).
    @inlinable public static var proxyAuthenticationInfo: FieldName { FieldName(code: 43) }
    /// `Proxy-Connection` (RFC 9112 §C.2.2).
    @inlinable public static var proxyConnection: FieldName { FieldName(code: 44) }
    /// `Proxy-Status` (RFC 9209 §2).
    @inlinable public static var proxyStatus: FieldName { FieldName(code: 45) }
    /// `Range` (RFC 9110 §14.2).
    @inlinable public static var range: FieldName { FieldName(code: 46) }
    /// `Referer` (RFC 9110 §10.1.3).
    @inlinable public static var referer: FieldName { FieldName(code: 47) }
    /// `Retry-After` (RFC 9110 §10.2.3).
    @inlinable public static var retryAfter: FieldName { FieldName(code: 48) }
    /// `Sec-Fetch-Site` (Fetch Metadata §2.2).
    @inlinable public static var secFetchSite: FieldName { FieldName(code: 49) }
    /// `Server` (RFC 9110 §10.2.4).
    @inlinable public static var server: FieldName { FieldName(code: 50) }
    /// `Set-Cookie` (RFC 6265 §4.1).
    @inlinable public static var setCookie: FieldName { FieldName(code: 51) }
    /// `Surrogate-Control` (Edge Architecture Specification §2).
    @inlinable public static var surrogateControl: FieldName { FieldName(code: 52) }
    /// `Cache-Groups` (RFC 9875 §2).
    @inlinable public static var cacheGroups: FieldName { FieldName(code: 53) }
    /// `Cache-Group-Invalidation` (RFC 9875 §3).
    @inlinable public static var cacheGroupInvalidation: FieldName { FieldName(code: 54) }
    /// `TE` (RFC 9110 §10.1.4).
    @inlinable public static var te: FieldName { FieldName(code: 55) }
    /// `Trailer` (RFC 9110 §6.6.2).
    @inlinable public static var trailer: FieldName { FieldName(code: 56) }
    /// `Transfer-Encoding` (RFC 9112 §6.1).
    @inlinable public static var transferEncoding: FieldName { FieldName(code: 57) }
    /// `Upgrade` (RFC 9110 §7.8).
    @inlinable public static var upgrade: FieldName { FieldName(code: 58) }
    /// `User-Agent` (RFC 9110 §10.1.5).
    @inlinable public static var userAgent: FieldName { FieldName(code: 59) }
    /// `Vary` (RFC 9110 §12.5.5).
    @inlinable public static var vary: FieldName { FieldName(code: 60) }
    /// `Via` (RFC 9110 §7.6.3).
    @inlinable public static var via: FieldName { FieldName(code: 61) }
    /// `Warning` (RFC 9111 §5.5, obsolete).
    @inlinable public static var warning: FieldName { FieldName(code: 62) }
    /// `WWW-Authenticate` (RFC 9110 §11.6.1).
    @inlinable public static var wwwAuthenticate: FieldName { FieldName(code: 63) }
    /// `X-Forwarded-For` (as RFC 7239 replaces it).
    @inlinable public static var xForwardedFor: FieldName { FieldName(code: 64) }
    /// `X-Forwarded-Host` (as RFC 7239 replaces it).
    @inlinable public static var xForwardedHost: FieldName { FieldName(code: 65) }
    /// `X-Forwarded-Proto` (as RFC 7239 replaces it).
    @inlinable public static var xForwardedProto: FieldName { FieldName(code: 66) }
    /// `Content-Digest` (RFC 9530 §2).
    @inlinable public static var contentDigest: FieldName { FieldName(code: 67) }
    /// `Repr-Digest` (RFC 9530 §3).
    @inlinable public static var reprDigest: FieldName { FieldName(code: 68) }
    /// `Digest` (RFC 3230 §4.3.2, obsolete).
    @inlinable public static var digest: FieldName { FieldName(code: 69) }
    /// `Content-MD5` (RFC 2616 §14.15, obsolete).
    @inlinable public static var contentMD5: FieldName { FieldName(code: 70) }
    /// `Sec-WebSocket-Key` (RFC 6455 §11.3.1).
    @inlinable public static var secWebSocketKey: FieldName { FieldName(code: 71) }
    /// `Sec-WebSocket-Accept` (RFC 6455 §11.3.3).
    @inlinable public static var secWebSocketAccept: FieldName { FieldName(code: 72) }
    /// `Sec-WebSocket-Version` (RFC 6455 §11.3.5).
    @inlinable public static var secWebSocketVersion: FieldName { FieldName(code: 73) }
    /// `Sec-WebSocket-Protocol` (RFC 6455 §11.3.4).
    @inlinable public static var secWebSocketProtocol: FieldName { FieldName(code: 74) }
    /// `Sec-WebSocket-Extensions` (RFC 6455 §11.3.2).
    @inlinable public static var secWebSocketExtensions: FieldName { FieldName(code: 75) }
    /// `Access-Control-Allow-Origin` (Fetch §3.3.3).
    @inlinable public static var accessControlAllowOrigin: FieldName { FieldName(code: 76) }
    /// `Strict-Transport-Security` (RFC 6797 §6.1).
    @inlinable public static var strictTransportSecurity: FieldName { FieldName(code: 77) }
    /// `X-Content-Type-Options` (Fetch §3.6).
    @inlinable public static var xContentTypeOptions: FieldName { FieldName(code: 78) }
    /// `Content-Security-Policy` (CSP Level 3 §3.1).
    @inlinable public static var contentSecurityPolicy: FieldName { FieldName(code: 79) }
    /// `Referrer-Policy` (Referrer Policy §4.1).
    @inlinable public static var referrerPolicy: FieldName { FieldName(code: 80) }
    /// `Larder-Token` (Larder's own: the admin token, beside `Authorization`).
    @inlinable public static var larderToken: FieldName { FieldName(code: 81) }
    /// `Authentication-Info` (RFC 9110 §11.6.3).
    @inlinable public static var authenticationInfo: FieldName { FieldName(code: 82) }
    /// `Service-Worker` (Service Workers §6.1).
    @inlinable public static var serviceWorker: FieldName { FieldName(code: 83) }
    /// `Service-Worker-Allowed` (Service Workers §6.2).
    @inlinable public static var serviceWorkerAllowed: FieldName { FieldName(code: 84) }
    /// `Clear-Site-Data` (Clear Site Data §3.1).
    @inlinable public static var clearSiteData: FieldName { FieldName(code: 85) }
    /// `Set-Cookie2` (RFC 2965 §3.2.2).
    @inlinable public static var setCookie2: FieldName { FieldName(code: 86) }
    /// `Use-As-Dictionary` (RFC 9842 §2.1).
    @inlinable public static var useAsDictionary: FieldName { FieldName(code: 87) }
    /// `No-Vary-Search` (No-Vary-Search §3).
    @inlinable public static var noVarySearch: FieldName { FieldName(code: 88) }
    /// `Refresh` (HTML §15.1.7).
    @inlinable public static var refresh: FieldName { FieldName(code: 89) }
    /// `Accept-CH` (RFC 8942 §3.1).
    @inlinable public static var acceptCH: FieldName { FieldName(code: 90) }
    /// `NEL` (Network Error Logging §4).
    @inlinable public static var nel: FieldName { FieldName(code: 91) }
    /// `Report-To` (Reporting API §3.1 of 2018).
    @inlinable public static var reportTo: FieldName { FieldName(code: 92) }
    /// `Public-Key-Pins` (RFC 7469 §2.1).
    @inlinable public static var publicKeyPins: FieldName { FieldName(code: 93) }
    /// `Origin-Agent-Cluster` (HTML §7.1.2).
    @inlinable public static var originAgentCluster: FieldName { FieldName(code: 94) }
    /// `Set-Login` (the FedCM login status API).
    @inlinable public static var setLogin: FieldName { FieldName(code: 95) }
    /// `Sec-Session-Registration` (device bound session credentials).
    @inlinable public static var sessionRegistration: FieldName { FieldName(code: 96) }
    /// `Sec-Session-Challenge` (device bound session credentials).
    @inlinable public static var sessionChallenge: FieldName { FieldName(code: 97) }
    /// `Secure-Session-Registration` (device bound session credentials).
    @inlinable public static var secureSessionRegistration: FieldName { FieldName(code: 98) }
    /// `Secure-Session-Challenge` (device bound session credentials).
    @inlinable public static var secureSessionChallenge: FieldName { FieldName(code: 99) }
    /// `Critical-CH` (client hint reliability).
    @inlinable public static var criticalCH: FieldName { FieldName(code: 100) }
    /// `Activate-Storage-Access` (storage access headers).
    @inlinable public static var activateStorageAccess: FieldName { FieldName(code: 101) }
    /// `Attribution-Reporting-Register-Source` (attribution reporting).
    @inlinable public static var attributionSource: FieldName { FieldName(code: 102) }
    /// `Attribution-Reporting-Register-Trigger` (attribution reporting).
    @inlinable public static var attributionTrigger: FieldName { FieldName(code: 103) }
}
