// SPDX-License-Identifier: Apache-2.0
public import HTTPTypes
public import LarderHTTP

/// To and from the types that much of the ecosystem speaks.
extension Fields {
    /// The fields of `HTTPFields`, in their order.
    public init(_ fields: HTTPFields) {
        self.init()
        for field in fields {
            guard let name = FieldName(field.name.rawName) else { continue }
            field.withUnsafeBytesOfValue { append(name, bytes: UnsafeRawBufferPointer($0)) }
        }
    }
}

extension HTTPFields {
    /// The fields of `Fields`, in their order.
    public init(_ fields: Fields) {
        self.init()
        fields.forEachLine { _, spelling, value in
            guard let name = HTTPField.Name(String(decoding: spelling, as: UTF8.self)) else { return }
            append(HTTPField(name: name, lenientValue: value))
        }
    }
}

extension LarderHTTP.Method {
    /// The same method; any token is one.
    public init?(_ method: HTTPRequest.Method) { self.init(method.rawValue) }
}

extension HTTPRequest.Method {
    /// The same method.
    public init?(_ method: LarderHTTP.Method) { self.init(rawValue: method.token) }
}

extension LarderHTTP.Status {
    /// The same status, without the phrase.
    public init(_ status: HTTPResponse.Status) { self.init(status.code) }
}

extension HTTPResponse.Status {
    /// The same status with its registered phrase.
    public init(_ status: LarderHTTP.Status) { self.init(code: status.code, reasonPhrase: status.phrase) }
}
