// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderHTTP
import LarderRules

/// The conditions under which the pipeline applies to a response.
extension EffectiveConfiguration {
    /// True if clients may get anything but the origin's response.
    package var mayTransform: Bool { fingerprint != 0 }

    /// True if that applies to other methods as well: where a block for the method configures the pipeline. (A method
    /// without a block is configured like GET, but its response need not be what GET returns.)
    func transforms(_ method: LarderHTTP.Method) -> Bool {
        mayTransform && frozen.configuration.transformedMethods.contains(method)
    }

    /// True if transformed responses are stored beside the originals.
    var storesRenditions: Bool {
        let pipeline = frozen.configuration.pipeline
        let served: PipelineStageKey? =
            if case .stage(let key) = frozen.configuration.serving { key } else { pipeline.order.last }
        return served.map { pipeline[$0].isCached != false } ?? true
    }

    /// How the pipeline handles a response with this head.
    enum PipelineUse: Equatable {
        /// Relayed unchanged.
        case none
        /// Relayed unchanged because of its size.
        case tooLarge
        /// Collected and transformed.
        case transformed
    }

    /// - Parameters:
    ///   - length: bytes of content, if known.
    ///   - limit: the most bytes that are collected.
    func pipelineUse(of head: ResponseHead, length: Int64?, in resource: Resource, limit: Int) -> PipelineUse {
        guard mayTransform, head.status != 206, !head.status.hasNoContent, length != 0,
            resource.hasTransformers(for: head, frozen.configuration),
            // RFC 9111 §5.2.2.6: the origin can forbid changes by intermediaries.
            !CacheControl.Response(head.fields, targets: policy.targets).flags.contains(.noTransform)
        else { return .none }
        return (length ?? 0) > Int64(limit) ? .tooLarge : .transformed
    }
}

/// A number that identifies the running program: different after every build or installation.
///
/// Transformers are code. The output of an older program is transformed again rather than trusted.
enum ProgramIdentity {
    static let number: UInt64 = {
        var status = stat()
        guard stat("/proc/self/exe", &status) == 0 else { return 0 }
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        // The bytes of the time, as a static build cannot access its parts.
        let parts = withUnsafeBytes(of: status.st_mtim, Array.init) + withUnsafeBytes(of: status.st_size, Array.init)
        for part in parts {
            hash = (hash ^ UInt64(part)) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash >> 29
        }
        return hash
    }()
}

extension Configuration {
    /// True if a program's mutators or decorators take part in requests.
    var isProgrammed: Bool { !mutators.isEmpty || !decorators.isEmpty }
}
