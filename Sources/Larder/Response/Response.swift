// SPDX-License-Identifier: Apache-2.0

/// The result of a request: an entity or an error.
public typealias Response = Result<AnyEntity, RequestError>

extension Result where Success == AnyEntity, Failure == RequestError {
    /// The entity of a success, or of an error that has one.
    public var entity: AnyEntity? {
        switch self {
        case .success(let entity): entity
        case .failure(let error): error.entity
        }
    }

    /// True if this is the error of a cancelled request.
    public var isCancellation: Bool {
        if case .failure(let error) = self { error.isCancellation } else { false }
    }
}
