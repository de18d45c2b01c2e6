// SPDX-License-Identifier: Apache-2.0

import CYAML

/// Composes the one document of a YAML text from the events of libyaml's parser. Aliases are replaced by their values,
/// and `<<` by the entries of the maps it names.
struct YAMLComposer: ~Copyable {
    /// The limits on nesting, and on merged entries: the expansion of a few nested aliases is unbounded otherwise.
    struct Limits {
        var depth: Int
        var merged: Int
    }

    private typealias Entry = (key: YAMLNode, value: YAMLNode)

    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let input: UnsafeMutableBufferPointer<UInt8>
    private let limits: Limits
    /// The values that aliases refer to, and the number of levels of each.
    private var anchors: [String: (node: YAMLNode, levels: Int)] = [:]
    private var depth = 0
    /// The deepest level of the value being composed, aliases included.
    private var deepest = 0
    private var merged = 0

    /// The root of `text`, or nil where it contains no document.
    ///
    /// - Throws: `YAMLError` where the text is not YAML, contains a second document, or exceeds a limit.
    static func compose(_ text: String, limits: Limits) throws(YAMLError) -> YAMLNode? {
        var composer = try YAMLComposer(text, limits: limits)
        return try composer.composeStream()
    }

    private init(_ text: String, limits: Limits) throws(YAMLError) {
        self.limits = limits
        parser = .allocate(capacity: 1)
        // libyaml reads from it until the parser is deleted.
        input = .allocate(capacity: text.utf8.count)
        _ = input.initialize(from: text.utf8)
        guard yaml_parser_initialize(parser) == 1 else {
            parser.deallocate()
            input.deallocate()
            throw YAMLError(problem: "too much for the memory there is", mark: .start)
        }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, input.baseAddress, input.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        input.deallocate()
    }

    // MARK: Documents

    private mutating func composeStream() throws(YAMLError) -> YAMLNode? {
        var root: (node: YAMLNode, start: YAMLMark)?
        while true {
            let event = try next()
            switch event.kind {
            case .streamEnd: return root?.node
            case .documentStart:
                guard root == nil else {
                    throw YAMLError(
                        problem: "but found another document", mark: event.mark,
                        context: ("expected a single document in the stream", root?.start.line ?? 1))
                }
                let first = try next()
                root = (try compose(first), first.mark)
            default: break
            }
        }
    }

    private mutating func compose(_ event: Event) throws(YAMLError) -> YAMLNode {
        let outer = deepest
        deepest = depth
        defer { deepest = max(outer, deepest) }
        let node: YAMLNode
        switch event.kind {
        case .scalar(let scalar): node = YAMLNode(kind: .scalar(scalar), mark: event.mark)
        case .sequenceStart: node = YAMLNode(kind: .sequence(try composeItems(event.mark)), mark: event.mark)
        case .mappingStart: node = YAMLNode(kind: .mapping(try composeEntries(event.mark)), mark: event.mark)
        case .alias(let name):
            guard let anchored = anchors[name] else {
                throw YAMLError(problem: "found undefined alias", mark: event.mark)
            }
            try reach(depth + anchored.levels, event.mark)
            return YAMLNode(kind: anchored.node.kind, mark: event.mark)
        default:
            throw YAMLError(problem: "did not find a value", mark: event.mark)
        }
        if let anchor = event.anchor { anchors[anchor] = (node, deepest - depth) }
        return node
    }

    private mutating func enter(_ mark: YAMLMark) throws(YAMLError) {
        depth += 1
        try reach(depth, mark)
    }

    /// Deeper values could overflow the stack, at the latest when they are released.
    private mutating func reach(_ level: Int, _ mark: YAMLMark) throws(YAMLError) {
        deepest = max(deepest, level)
        guard level <= limits.depth else {
            throw YAMLError(problem: "values nested more than \(limits.depth) deep", mark: mark)
        }
    }

    private mutating func composeItems(_ mark: YAMLMark) throws(YAMLError) -> [YAMLNode] {
        try enter(mark)
        defer { depth -= 1 }
        var items: [YAMLNode] = []
        while true {
            let event = try next()
            if case .sequenceEnd = event.kind { return items }
            items.append(try compose(event))
        }
    }

    private mutating func composeEntries(_ mark: YAMLMark) throws(YAMLError) -> [(key: YAMLNode, value: YAMLNode)] {
        try enter(mark)
        defer { depth -= 1 }
        var entries: [Entry] = []
        var sources: [YAMLNode] = []
        while true {
            let event = try next()
            if case .mappingEnd = event.kind { break }
            let key = try compose(event)
            let value = try compose(try next())
            if key.isMergeKey { sources.append(value) } else { entries.append((key, value)) }
        }
        for source in sources { try merge(source, into: &entries) }
        return entries
    }

    /// Adds the entries of a map, or of each map of a list, whose keys are missing.
    private mutating func merge(_ source: YAMLNode, into entries: inout [Entry]) throws(YAMLError) {
        switch source.kind {
        case .mapping(let others):
            var known = Set(entries.compactMap(\.key.text))
            for entry in others {
                guard let name = entry.key.text, known.insert(name).inserted else { continue }
                merged += 1
                guard merged <= limits.merged else {
                    throw YAMLError(problem: "more than \(limits.merged) merged entries", mark: source.mark)
                }
                entries.append(entry)
            }
        case .sequence(let items):
            for item in items {
                guard case .mapping = item.kind else { throw Self.unmergeable(item) }
                try merge(item, into: &entries)
            }
        case .scalar: throw Self.unmergeable(source)
        }
    }

    private static func unmergeable(_ node: YAMLNode) -> YAMLError {
        YAMLError(problem: "`<<` with what is no map", mark: node.mark)
    }

    // MARK: Events

    private struct Event {
        enum Kind {
            case scalar(YAMLNode.Scalar)
            case alias(String)
            case sequenceStart, sequenceEnd, mappingStart, mappingEnd
            case documentStart, streamEnd
            case other
        }

        let kind: Kind
        let anchor: String?
        let mark: YAMLMark
    }

    private mutating func next() throws(YAMLError) -> Event {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw failure() }
        defer { yaml_event_delete(&event) }
        let mark = YAMLMark(event.start_mark)
        switch event.type {
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let text = String(
                decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            let kind = YAMLNode.Scalar(
                text: text, isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE, tag: Self.text(scalar.tag))
            return Event(kind: .scalar(kind), anchor: Self.text(scalar.anchor), mark: mark)
        case YAML_ALIAS_EVENT:
            return Event(kind: .alias(Self.text(event.data.alias.anchor) ?? ""), anchor: nil, mark: mark)
        case YAML_SEQUENCE_START_EVENT:
            return Event(kind: .sequenceStart, anchor: Self.text(event.data.sequence_start.anchor), mark: mark)
        case YAML_MAPPING_START_EVENT:
            return Event(kind: .mappingStart, anchor: Self.text(event.data.mapping_start.anchor), mark: mark)
        case YAML_SEQUENCE_END_EVENT: return Event(kind: .sequenceEnd, anchor: nil, mark: mark)
        case YAML_MAPPING_END_EVENT: return Event(kind: .mappingEnd, anchor: nil, mark: mark)
        case YAML_DOCUMENT_START_EVENT: return Event(kind: .documentStart, anchor: nil, mark: mark)
        case YAML_STREAM_END_EVENT: return Event(kind: .streamEnd, anchor: nil, mark: mark)
        default: return Event(kind: .other, anchor: nil, mark: mark)
        }
    }

    private static func text(_ octets: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        octets.map { String(cString: $0) }
    }

    private func failure() -> YAMLError {
        let state = parser.pointee
        switch state.error {
        case YAML_MEMORY_ERROR: return YAMLError(problem: "too much for the memory there is", mark: .start)
        case YAML_READER_ERROR:
            return YAMLError(problem: "a control character", mark: YAMLMark(ofOctet: state.problem_offset, in: input))
        default:
            let context = state.context.map { (String(cString: $0), Int(state.context_mark.line) + 1) }
            return YAMLError(
                problem: state.problem.map { String(cString: $0) } ?? "something the parser refused",
                mark: YAMLMark(state.problem_mark), context: context)
        }
    }
}

extension YAMLMark {
    fileprivate init(_ mark: yaml_mark_t) { self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1) }

    /// The place of the byte at `offset`.
    fileprivate init(ofOctet offset: Int, in text: UnsafeMutableBufferPointer<UInt8>) {
        let before = text.prefix(offset)
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        // Continuation bytes of a character do not count.
        let column = before[lineStart...].count { $0 & 0xC0 != 0x80 }
        self.init(line: before.count { $0 == UInt8(ascii: "\n") } + 1, column: column + 1)
    }
}
