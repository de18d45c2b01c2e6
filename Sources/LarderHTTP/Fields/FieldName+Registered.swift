// SPDX-License-Identifier: Apache-2.0

extension FieldName {
    /// The registered names in the order of their codes; code 0 stands for every other name.
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
    ]

    @inlinable public static var accept: FieldName { FieldName(code: 1) }
    @inlinable public static var acceptCharset: FieldName { FieldName(code: 2) }
    @inlinable public static var acceptEncoding: FieldName { FieldName(code: 3) }
    @inlinable public static var acceptLanguage: FieldName { FieldName(code: 4) }
    @inlinable public static var acceptRanges: FieldName { FieldName(code: 5) }
    @inlinable public static var age: FieldName { FieldName(code: 6) }
    @inlinable public static var allow: FieldName { FieldName(code: 7) }
    @inlinable public static var altSvc: FieldName { FieldName(code: 8) }
    @inlinable public static var authorization: FieldName { FieldName(code: 9) }
    @inlinable public static var cacheControl: FieldName { FieldName(code: 10) }
    @inlinable public static var cacheStatus: FieldName { FieldName(code: 11) }
    @inlinable public static var cdnCacheControl: FieldName { FieldName(code: 12) }
    @inlinable public static var connection: FieldName { FieldName(code: 13) }
    @inlinable public static var contentDisposition: FieldName { FieldName(code: 14) }
    @inlinable public static var contentEncoding: FieldName { FieldName(code: 15) }
    @inlinable public static var contentLanguage: FieldName { FieldName(code: 16) }
    @inlinable public static var contentLength: FieldName { FieldName(code: 17) }
    @inlinable public static var contentLocation: FieldName { FieldName(code: 18) }
    @inlinable public static var contentRange: FieldName { FieldName(code: 19) }
    @inlinable public static var contentType: FieldName { FieldName(code: 20) }
    @inlinable public static var cookie: FieldName { FieldName(code: 21) }
    @inlinable public static var date: FieldName { FieldName(code: 22) }
    @inlinable public static var eTag: FieldName { FieldName(code: 23) }
    @inlinable public static var expect: FieldName { FieldName(code: 24) }
    @inlinable public static var expires: FieldName { FieldName(code: 25) }
    @inlinable public static var forwarded: FieldName { FieldName(code: 26) }
    @inlinable public static var host: FieldName { FieldName(code: 27) }
    @inlinable public static var ifMatch: FieldName { FieldName(code: 28) }
    @inlinable public static var ifModifiedSince: FieldName { FieldName(code: 29) }
    @inlinable public static var ifNoneMatch: FieldName { FieldName(code: 30) }
    @inlinable public static var ifRange: FieldName { FieldName(code: 31) }
    @inlinable public static var ifUnmodifiedSince: FieldName { FieldName(code: 32) }
    @inlinable public static var keepAlive: FieldName { FieldName(code: 33) }
    @inlinable public static var lastEventID: FieldName { FieldName(code: 34) }
    @inlinable public static var lastModified: FieldName { FieldName(code: 35) }
    @inlinable public static var link: FieldName { FieldName(code: 36) }
    @inlinable public static var location: FieldName { FieldName(code: 37) }
    @inlinable public static var maxForwards: FieldName { FieldName(code: 38) }
    @inlinable public static var origin: FieldName { FieldName(code: 39) }
    @inlinable public static var pragma: FieldName { FieldName(code: 40) }
    @inlinable public static var proxyAuthenticate: FieldName { FieldName(code: 41) }
    @inlinable public static var proxyAuthorization: FieldName { FieldName(code: 42) }
    @inlinable public static var proxyAuthenticationInfo: FieldName { FieldName(code: 43) }
    @inlinable public static var proxyConnection: FieldName { FieldName(code: 44) }
    @inlinable public static var proxyStatus: FieldName { FieldName(code: 45) }
    @inlinable public static var range: FieldName { FieldName(code: 46) }
    @inlinable public static var referer: FieldName { FieldName(code: 47) }
    @inlinable public static var retryAfter: FieldName { FieldName(code: 48) }
    @inlinable public static var secFetchSite: FieldName { FieldName(code: 49) }
    @inlinable public static var server: FieldName { FieldName(code: 50) }
    @inlinable public static var setCookie: FieldName { FieldName(code: 51) }
    @inlinable public static var surrogateControl: FieldName { FieldName(code: 52) }
    @inlinable public static var cacheGroups: FieldName { FieldName(code: 53) }
    @inlinable public static var cacheGroupInvalidation: FieldName { FieldName(code: 54) }
    @inlinable public static var te: FieldName { FieldName(code: 55) }
    @inlinable public static var trailer: FieldName { FieldName(code: 56) }
    @inlinable public static var transferEncoding: FieldName { FieldName(code: 57) }
    @inlinable public static var upgrade: FieldName { FieldName(code: 58) }
    @inlinable public static var userAgent: FieldName { FieldName(code: 59) }
    @inlinable public static var vary: FieldName { FieldName(code: 60) }
    @inlinable public static var via: FieldName { FieldName(code: 61) }
    @inlinable public static var warning: FieldName { FieldName(code: 62) }
    @inlinable public static var wwwAuthenticate: FieldName { FieldName(code: 63) }
    @inlinable public static var xForwardedFor: FieldName { FieldName(code: 64) }
    @inlinable public static var xForwardedHost: FieldName { FieldName(code: 65) }
    @inlinable public static var xForwardedProto: FieldName { FieldName(code: 66) }
    @inlinable public static var contentDigest: FieldName { FieldName(code: 67) }
    @inlinable public static var reprDigest: FieldName { FieldName(code: 68) }
    @inlinable public static var digest: FieldName { FieldName(code: 69) }
    @inlinable public static var contentMD5: FieldName { FieldName(code: 70) }
    @inlinable public static var secWebSocketKey: FieldName { FieldName(code: 71) }
    @inlinable public static var secWebSocketAccept: FieldName { FieldName(code: 72) }
    @inlinable public static var secWebSocketVersion: FieldName { FieldName(code: 73) }
    @inlinable public static var secWebSocketProtocol: FieldName { FieldName(code: 74) }
    @inlinable public static var secWebSocketExtensions: FieldName { FieldName(code: 75) }
    @inlinable public static var accessControlAllowOrigin: FieldName { FieldName(code: 76) }
    @inlinable public static var strictTransportSecurity: FieldName { FieldName(code: 77) }
    @inlinable public static var xContentTypeOptions: FieldName { FieldName(code: 78) }
    @inlinable public static var contentSecurityPolicy: FieldName { FieldName(code: 79) }
    @inlinable public static var referrerPolicy: FieldName { FieldName(code: 80) }
    @inlinable public static var larderToken: FieldName { FieldName(code: 81) }
    @inlinable public static var authenticationInfo: FieldName { FieldName(code: 82) }
}
