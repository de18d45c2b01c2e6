// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderCodings
import LarderHTTP
import LarderTransformers

extension PipelineSettings {
    /// Changes the pipeline of a configuration.
    package func apply(to configuration: inout Configuration) {
        if clear { configuration.pipeline.clear() }
        if removeAllTransformers { configuration.pipeline.removeAllTransformers() }
        // Duplicates were refused when the order was read.
        if let order { try? configuration.pipeline.setOrder(order) }
        if removeAllCaches {
            configuration.pipeline.removeAllCaches()
            for key in configuration.pipeline.order { configuration.pipeline[key].doNotCache() }
        }
        for stage in stages {
            if stage.clear { configuration.pipeline[stage.key].removeTransformers() }
            switch stage.cache {
            case .some(.default): configuration.pipeline[stage.key].isCached = true
            case .some(.none): configuration.pipeline[stage.key].doNotCache()
            case nil: break
            }
            for transformer in stage.add {
                transformer.add(to: &configuration.pipeline, stage.key, limit: configuration.transformedSizeLimit)
            }
        }
    }
}

extension TransformerSettings {
    fileprivate func add(to pipeline: inout Pipeline, _ key: PipelineStageKey, limit: Int) {
        var options = TransformerOptions()
        options.sizeLimit = limit
        options.onMismatch = onMismatch ?? .error
        if let parsed = use?.parsed {
            options.transformErrors = transformErrors ?? (parsed != .image)
            guard let standard = Transformers.standard(parsed, options) else { return }
            if contentTypes == nil, onMismatch == nil, transformErrors == nil {
                pipeline.add(standard, atStage: key)
            } else {
                pipeline[key].add(
                    Transformers.parsing(parsed, options),
                    contentTypes: contentTypes ?? standard.contentTypes)
            }
            return
        }
        options.transformErrors = transformErrors ?? false
        guard let transformer = transformer(options) else { return }
        if let contentTypes {
            pipeline[key].add(transformer, contentTypes: contentTypes)
        } else {
            pipeline[key].add(transformer)
        }
    }

    private func transformer(_ options: TransformerOptions) -> (any ResponseTransformer)? {
        if let use { return use.transformer(always: always ?? false, options) }
        if let jq { return Transformers.jq(jq.program, options) }
        if let jsonPointer {
            return Transformers.jsonPointer(select: jsonPointer.select, omit: jsonPointer.omit, options)
        }
        if let errorMessageFrom { return Transformers.errorMessage(from: errorMessageFrom, options) }
        if let successIfStatus { return Transformers.success(ifStatus: Set(successIfStatus.map { Status($0) })) }
        if let requireType { return Transformers.requireType(requireType, options) }
        if let headers { return Transformers.headers(headers.map { FieldEdit($0.name, $0.value?.reveal()) }) }
        if let exec { return Transformers.exec(exec.program, options) }
        return nil
    }
}

extension TransformerSettings.Plain {
    /// The content type that a standard transformer parses; nil for transformers that decode codings.
    var parsed: ContentType? {
        switch self {
        case .json: .json
        case .text: .text
        case .image: .image
        case .decode, .gunzip, .brotli, .zstd: nil
        }
    }

    /// The coding that is decoded by name.
    var coding: ContentCoding? {
        switch self {
        case .gunzip: .gzip
        case .brotli: .br
        case .zstd: .zstd
        case .json, .text, .image, .decode: nil
        }
    }

    fileprivate func transformer(always: Bool, _ options: TransformerOptions) -> any ResponseTransformer {
        guard let coding else { return Transformers.decode(options) }
        return Transformers.decode(coding, named: rawValue, always: always, options)
    }
}

extension ServiceSettings {
    /// Adds the service's standard transformers to a pipeline, before any block.
    package func addStandardTransformers(to configuration: inout Configuration) {
        for name in standardTransformers {
            var options = TransformerOptions()
            options.sizeLimit = configuration.transformedSizeLimit
            if let standard = Transformers.standard(name.type, options) { configuration.pipeline.add(standard) }
        }
    }
}

/// The transformers that a service can apply to all of its resources.
package enum StandardName: String, Sendable, CaseIterable {
    case json, text, image

    fileprivate var type: ContentType {
        switch self {
        case .json: .json
        case .text: .text
        case .image: .image
        }
    }
}
