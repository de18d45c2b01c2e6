// SPDX-License-Identifier: Apache-2.0
import CHiredis

/// Turns received bytes into replies, with hiredis's reader. Belongs to one connection.
///
/// The reader would allocate as much memory as a reply announces. So it gets no more bytes of an incomplete reply than
/// `limits` allows, and makes no array of more elements.
package final class ReplyReader {
    package struct Limits: Sendable {
        /// Bytes of a reply that has not come completely, and of all strings in one reply.
        package var octets = 1 << 20
        /// Elements of a reply in all its arrays.
        package var elements = 65_536
        /// Arrays in one another. Five are needed, for streams; versions of hiredis differ in what they take.
        package static let depth = 6

        package init(octets: Int = 1 << 20, elements: Int = 65_536) {
            self.octets = octets
            self.elements = elements
        }
    }

    /// The bytes are not RESP2, or a reply is longer than the limits.
    package struct Malformed: Error, Equatable, Sendable {
        package let reason: String
    }

    private let reader: UnsafeMutablePointer<redisReader>
    private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
    private let budget: Budget
    private let limits: Limits
    private var failure: Malformed?
    /// True if the last byte that came is a CR.
    private var endsInReturn = false

    package init(limits: Limits = Limits()) {
        self.limits = limits
        budget = Budget(limits)
        functions = .allocate(capacity: 1)
        functions.initialize(to: makers)
        // Unreachable: only without memory, which ends the process everywhere.
        guard let reader = redisReaderCreateWithFunctions(functions) else { preconditionFailure("no memory") }
        self.reader = reader
        reader.pointee.privdata = Unmanaged.passUnretained(budget).toOpaque()
    }

    deinit {
        redisReaderFree(reader)
        functions.deallocate()
    }

    /// Takes bytes and returns the replies that are complete with them. After an error every call fails.
    package func read(_ octets: UnsafeRawBufferPointer) throws(Malformed) -> [Reply] {
        if let failure { throw failure }
        var replies: [Reply] = []
        var rest = octets
        // In steps, so that the reader never has more than a step beyond the limit.
        while rest.count > 0 {
            let step = UnsafeRawBufferPointer(rebasing: rest.prefix(ReplyReader.step))
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(step.count))
            guard
                redisReaderFeed(reader, step.baseAddress?.assumingMemoryBound(to: CChar.self), step.count) == REDIS_OK
            else { throw fail() }
            // Each reply ends with a line end. Without a new one the reader would look through an unfinished line again.
            if endsLine(in: step) { while let reply = try next() { replies.append(reply) } }
            guard reader.pointee.len - reader.pointee.pos <= limits.octets else { throw fail("a reply is too long") }
        }
        return replies
    }

    private static let step = 64 << 10

    /// True if the bytes contain a CR LF, or an LF after a CR that came before.
    private func endsLine(in octets: UnsafeRawBufferPointer) -> Bool {
        var isFound = false
        for octet in octets {
            isFound = isFound || octet == 0x0A && endsInReturn
            endsInReturn = octet == 0x0D
        }
        return isFound
    }

    private func next() throws(Malformed) -> Reply? {
        var made: UnsafeMutableRawPointer?
        guard redisReaderGetReply(reader, &made) == REDIS_OK else { throw fail() }
        guard let made else { return nil }
        budget.reset(limits)
        return Unmanaged<Part>.fromOpaque(made).takeRetainedValue().reply
    }

    private func fail(_ reason: String? = nil) -> Malformed {
        let malformed = Malformed(reason: reason ?? budget.excess ?? errorText)
        failure = malformed
        return malformed
    }

    private var errorText: String {
        withUnsafeBytes(of: reader.pointee.errstr) { text in
            String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

/// The memory left for the reply that is being read.
private final class Budget {
    private var octets: Int
    private var elements: Int
    /// The limit that a reply went over.
    private(set) var excess: String?

    init(_ limits: ReplyReader.Limits) {
        octets = limits.octets
        elements = limits.elements
    }

    func reset(_ limits: ReplyReader.Limits) {
        octets = limits.octets
        elements = limits.elements
    }

    func take(octets count: Int) -> Bool {
        octets -= count
        if octets < 0 { excess = "a reply is too long" }
        return octets >= 0
    }

    /// Counts an array that is nested in the arrays of `parent` and its parents.
    func take(arrayIn parent: UnsafeMutablePointer<redisReadTask>?) -> Bool {
        var (depth, outer) = (1, parent)
        while let task = outer { (depth, outer) = (depth + 1, task.pointee.parent) }
        guard depth <= ReplyReader.Limits.depth else {
            excess = "the arrays of a reply stand too deep in one another"
            return false
        }
        return true
    }

    func take(elements count: Int) -> Bool {
        guard count >= 0, count <= elements else {
            excess = "a reply has too many elements"
            return false
        }
        elements -= count
        return true
    }
}

/// A part of a reply while it is read. The reader has the outermost one, which holds the others.
private final class Part {
    private enum Content {
        case whole(Reply)
        case array([Part])
    }

    private var content: Content

    init(_ reply: Reply) { content = .whole(reply) }
    init(room: Int) {
        var parts: [Part] = []
        parts.reserveCapacity(min(room, 64))
        content = .array(parts)
    }

    func append(_ part: Part) {
        guard case .array(var parts) = content else { return }
        // Not copied: the storage has one owner.
        content = .array([])
        parts.append(part)
        content = .array(parts)
    }

    var reply: Reply {
        switch content {
        case .whole(let reply): reply
        case .array(let parts): .array(parts.map(\.reply))
        }
    }

    /// Adds a part to the part that contains it, or returns it to the reader; nil makes the reader give up.
    static func place(_ part: Part, for task: UnsafePointer<redisReadTask>) -> UnsafeMutableRawPointer {
        guard let container = task.pointee.parent?.pointee.obj else {
            return Unmanaged.passRetained(part).toOpaque()
        }
        Unmanaged<Part>.fromOpaque(container).takeUnretainedValue().append(part)
        return Unmanaged.passUnretained(part).toOpaque()
    }
}

private func budget(of task: UnsafePointer<redisReadTask>) -> Budget? {
    task.pointee.privdata.map { Unmanaged<Budget>.fromOpaque($0).takeUnretainedValue() }
}

private let makers = redisReplyObjectFunctions(
    createString: { task, characters, count in
        guard let task, budget(of: task)?.take(octets: count) == true else { return nil }
        let octets = UnsafeRawBufferPointer(start: characters, count: count)
        let reply: Reply =
            switch task.pointee.type {
            case REDIS_REPLY_ERROR: .refusal(Refusal(String(decoding: octets, as: UTF8.self)))
            case REDIS_REPLY_STATUS: .status(String(decoding: octets, as: UTF8.self))
            default: .bulk(Array(octets))
            }
        return Part.place(Part(reply), for: task)
    },
    createArray: { task, count in
        guard let task, let budget = budget(of: task), budget.take(arrayIn: task.pointee.parent),
            budget.take(elements: Int(count))
        else { return nil }
        return Part.place(Part(room: Int(count)), for: task)
    },
    createInteger: { task, number in task.map { Part.place(Part(.integer(number)), for: $0) } },
    createNil: { task in task.map { Part.place(Part(.null), for: $0) } },
    freeObject: { part in
        if let part { Unmanaged<Part>.fromOpaque(part).release() }
    })
