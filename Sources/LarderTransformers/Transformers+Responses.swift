// SPDX-License-Identifier: Apache-2.0
package import Larder
package import LarderHTTP

/// A field that is set on a response, or taken off it when the value is nil.
package struct FieldEdit: Sendable, Hashable {
    package let name: FieldName
    package let value: String?

    package init(_ name: FieldName, _ value: String?) {
        self.name = name
        self.value = value
    }
}

extension Transformers {
    /// Makes responses with certain error statuses successes, with their status and content as they are. Errors that
    /// a transformer made stay errors.
    package static func success(ifStatus statuses: Set<Status>) -> some ResponseTransformer {
        let details = "\(statuses.map(\.rawValue).sorted())"
        return ErrorTransformer(transformerDescription: "successIfStatus", details: details) { error, entity in
            guard let status = error.status, statuses.contains(status), error.cause == nil else {
                return .failure(error)
            }
            return .success(entity)
        }
    }

    /// Makes an error of responses whose content is of another type, and changes nothing.
    package static func requireType(_ type: ContentType, _ options: TransformerOptions) -> some ResponseTransformer {
        EntityTransformer(
            transformerDescription: "requireType", options: options, takes: type.rawValue,
            isOutput: type.isType,
            body: { entity, _ in
                guard type.isType(of: entity.content) else { throw EntityTransformer.WrongContent() }
                return entity
            }, details: type.rawValue)
    }

    /// Edits the fields of responses, of errors too.
    package static func headers(_ edits: [FieldEdit]) -> some ResponseTransformer {
        ClosureTransformer("headers", fingerprint: "headers \(edits)") { response in
            func edited(_ entity: AnyEntity) -> AnyEntity {
                var entity = entity
                for edit in edits { entity.fields[edit.name] = edit.value }
                return entity
            }
            switch response {
            case .success(let entity): return .success(edited(entity))
            case .failure(var error):
                error.entity = error.entity.map(edited)
                return .failure(error)
            }
        }
    }
}
