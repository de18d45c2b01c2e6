// SPDX-License-Identifier: Apache-2.0
import Glibc

/// An error of the kernel, the resolver or TLS.
package struct IOError: Error, Sendable, Equatable {
    /// The kind of failure. Open: compare with the named ones and treat unknown ones like `.other`.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name, for logs.
        package let description: String

        package init(_ name: String) { description = name }

        /// The peer broke the connection, or ended it where the protocol does not allow an end.
        package static let connectionReset = Code("connectionReset")
        /// The stream, listener or loop was closed on our side.
        package static let closed = Code("closed")
        /// The deadline passed first.
        package static let timedOut = Code("timedOut")
        /// The peer's machine answered that no process listens there.
        package static let refused = Code("refused")
        /// The peer's machine is unreachable.
        package static let unreachable = Code("unreachable")
        /// The name does not exist, or has no address.
        package static let nameNotFound = Code("nameNotFound")
        /// Name servers could not be asked, or failed to answer.
        package static let nameServerFailure = Code("nameServerFailure")
        /// Name servers did not answer in time.
        package static let lookupTimedOut = Code("lookupTimedOut")
        /// The TLS handshake failed, or the session broke.
        package static let tlsFailed = Code("tlsFailed")
        /// The peer's certificate was not accepted.
        package static let certificateInvalid = Code("certificateInvalid")
        /// The process or the system has no file descriptor left.
        package static let descriptorsExhausted = Code("descriptorsExhausted")
        /// Another socket listens there already.
        package static let addressInUse = Code("addressInUse")
        /// The system, or a rule of ours, forbids it.
        package static let permissionDenied = Code("permissionDenied")
        /// A bounded queue is full.
        package static let overloaded = Code("overloaded")
        /// Two tasks read, or two write, one stream, an internal error: the second gets this, the first continues.
        package static let contended = Code("contended")
        /// The system has no memory left for received bytes.
        package static let outOfMemory = Code("outOfMemory")
        /// Everything else; `errno` and `detail` say more.
        package static let other = Code("other")
    }

    package let code: Code
    /// The kernel's error number, or 0.
    package let errno: Int32
    /// The attempted operation, e.g. `connect to 192.0.2.1:80`.
    package let operation: String
    /// The problem in words, and a remedy if there is one.
    package let detail: String

    package init(_ code: Code, errno: Int32 = 0, operation: String, detail: String = "") {
        self.code = code
        self.errno = errno
        self.operation = operation
        self.detail = detail
    }

    /// The error for the `errno` of a system call.
    package init(errno number: Int32, operation: String) {
        self.init(Self.code(for: number), errno: number, operation: operation, detail: Self.text(for: number))
    }

    private static func code(for number: Int32) -> Code {
        switch number {
        case ECONNRESET, EPIPE, ECONNABORTED: .connectionReset
        case ETIMEDOUT: .timedOut
        case ECONNREFUSED: .refused
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL, EAFNOSUPPORT: .unreachable
        case EMFILE, ENFILE: .descriptorsExhausted
        case EADDRINUSE: .addressInUse
        case EACCES, EPERM: .permissionDenied
        case EBADF: .closed
        case ENOMEM, ENOBUFS: .outOfMemory
        default: .other
        }
    }

    private static func text(for number: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 128)
        let message = strerror_r(number, &buffer, buffer.count) == 0 ? Self.string(buffer) : "error \(number)"
        return switch number {
        case EMFILE: "\(message); raise the limit on open files (LimitNOFILE, ulimit -n)"
        case ENFILE: "\(message); raise fs.file-max"
        case EADDRINUSE: "\(message); stop what listens there or choose another address"
        case EACCES: "\(message); ports below 1024 and foreign directories need the right to use them"
        default: message
        }
    }

    private static func string(_ buffer: [CChar]) -> String {
        String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension IOError: CustomStringConvertible {
    package var description: String {
        detail.isEmpty ? "\(operation): \(code)" : "\(operation): \(detail) (\(code))"
    }
}
