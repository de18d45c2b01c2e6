// SPDX-License-Identifier: Apache-2.0

/// Why a response was not stored; the words are used in `detail`, logs, metrics and explanations.
package enum UnstoredReason: Sendable, Hashable, BitwiseCopyable {
    /// A condition of RFC 9111 §3 that failed, the first of them.
    case condition(StorageCondition)
    /// It is storable, but larger than the limit.
    case tooLarge
    /// It may be stored, but is a part that cannot be kept.
    case part
    /// It may be stored, but is a stream of events that broke off.
    case cut
    /// It may be stored, but is for another partition than the one that asked: the credentials were renewed on the way.
    case otherPartition
    /// A program has sent another method than was asked for.
    case otherMethod
    /// It is an error, and the stored response, which it would replace, cannot be read just now.
    case unread
    /// It is an error, and the stored response, which it would replace, answers in its place.
    case outlasted

    package var word: String {
        switch self {
        // These conditions are called by what has to hold, which would say the contrary here.
        case .condition(.cacheable): "not-cacheable"
        case .condition(.redirect): "redirect-not-cacheable"
        case .condition(let condition): condition.rawValue
        case .tooLarge: "too-large"
        case .part: "part"
        case .cut: "cut"
        case .otherPartition: "other-partition"
        case .otherMethod: "other-method"
        case .unread: "stored-unread"
        case .outlasted: "stored-outlasts-error"
        }
    }

    package static let all: [UnstoredReason] =
        StorageCondition.allCases.map(UnstoredReason.condition) + [
            .tooLarge, .part, .cut, .otherPartition, .otherMethod, .unread, .outlasted,
        ]
}
