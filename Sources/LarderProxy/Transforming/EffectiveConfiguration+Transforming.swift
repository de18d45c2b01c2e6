// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// Whether the pipeline has to do with a response.
extension EffectiveConfiguration {
    /// Whether clients may get something else than what the origin sent.
    package var mayTransform: Bool { fingerprint != 0 }

    /// Whether that goes for a method that does not read as well: where a block that names it has something to say of
    /// the pipeline. (A method that nobody names is configured like GET, but need not bring what GET does.)
    func transforms(_ method: LarderHTTP.Method) -> Bool {
        mayTransform && frozen.configuration.transformedMethods.contains(method)
    }

    /// Whether what clients get goes to the store beside it.
    var storesRenditions: Bool {
        let pipeline = frozen.configuration.pipeline
        let served: PipelineStageKey? =
            if case .stage(let key) = frozen.configuration.serving { key } else { pipeline.order.last }
        return served.map { pipeline[$0].isCached != false } ?? true
    }

    /// What becomes of a response with this head, as far as the pipeline is concerned.
    enum Treatment: Equatable {
        /// Its octets go on as they came.
        case none
        /// They go on as they came because there are so many.
        case tooLarge
        /// They are collected and go through the pipeline.
        case transformed
    }

    /// - Parameters:
    ///   - length: octets of content, if they are known.
    ///   - limit: the most octets that are collected.
    func treatment(of head: ResponseHead, length: Int64?, in resource: Resource, limit: Int) -> Treatment {
        guard mayTransform, head.status != 206, !head.status.hasNoContent, length != 0,
            resource.hasTransformers(for: head, frozen.configuration),
            // RFC 9111 §5.2.2.6: the origin has the last word on whether its octets may change on the way.
            !CacheControl.Response(head.fields, targets: policy.targets).flags.contains(.noTransform)
        else { return .none }
        return (length ?? 0) > Int64(limit) ? .tooLarge : .transformed
    }
}
