// SPDX-License-Identifier: Apache-2.0
package import LarderIO

/// Sends the process's invalidations to the log, and obeys those of other processes. Confined to its loop.
package final class SharedLog {
    /// The effects of the log's messages on this process.
    package struct Effects {
        /// To memory and disk, for a message of another process.
        package var obey: (LogMessage.Subject) async -> Void
        /// Stored responses may have been invalidated without a message that could be read.
        package var forgetAll: () async -> Void
        /// Everything up to a place of the log was obeyed.
        package var reached: (LogPlace) -> Void

        package init(
            obey: @escaping (LogMessage.Subject) async -> Void, forgetAll: @escaping () async -> Void,
            reached: @escaping (LogPlace) -> Void = { _ in }
        ) {
            self.obey = obey
            self.forgetAll = forgetAll
            self.reached = reached
        }
    }

    private let state: SharedState
    private let loop: EventLoop
    /// Waits for messages.
    private let reader: Engine
    /// Sends them.
    private let writer: Engine
    private let effects: Effects
    private var position: String?
    private var senders: KnownSenders
    private var isAttached = false
    private var isSending = false
    private var isClosed = false

    /// How long a read waits in the engine. Several fit into `SharedState.patience`.
    private static let block = 300
    /// The same for the first after a break: where nothing has come, the tier is used again at once.
    private static let firstBlock = 1
    private static let answerTime = Duration.milliseconds(600)
    private static let pause = Duration.milliseconds(250)

    /// - Parameters:
    ///   - reader, writer: of their own, as reading blocks a connection.
    ///   - place: up to which the log was obeyed earlier; nil where that is not known.
    package init(
        _ state: SharedState, on loop: EventLoop, reader: Engine, writer: Engine, from place: LogPlace?,
        effects: Effects
    ) {
        self.state = state
        self.loop = loop
        self.reader = reader
        self.writer = writer
        position = place?.position
        senders = place?.senders ?? KnownSenders()
        self.effects = effects
    }

    package func start() {
        loop.startHere { await self.follow() }
        send()
    }

    package func close() {
        isClosed = true
        state.lostLog()
        reader.close()
        writer.close()
    }

    // MARK: Following

    private func follow() async {
        while !isClosed {
            if await isAttachedNow(), await readOn() { continue }
            state.lostLog()
            isAttached = false
            if !isClosed { await loop.sleep(for: SharedLog.pause) }
        }
    }

    private func isAttachedNow() async -> Bool {
        if isAttached { return true }
        isAttached = await attach()
        return isAttached
    }

    /// Finds the place to read on from. Where the log no longer has it, stored responses count as invalid.
    private func attach() async -> Bool {
        let deadline = reader.instant(after: reader.settings.connectTimeout)
        if let position {
            guard case .success(let reply) = await reader.perform(state.keys.find(position), until: deadline) else {
                return false
            }
            if reply.elements?.count == 1 { return true }
        }
        guard case .success(let last) = await reader.perform(state.keys.last, until: deadline),
            let entries = LogEntry.list(last)
        else { return false }
        if let entry = entries.first {
            position = entry.position
        } else {
            // There has to be a message, so that its place can be found again.
            let beginning = state.messages.encode(LogMessage(from: state.sender, 0, .beginning))
            let outcome = await reader.perform(state.keys.append(beginning), until: deadline)
            guard case .success(let reply) = outcome, let made = reply.text, LogEntry.isPosition(made) else {
                return false
            }
            position = made
        }
        state.counters.add(.gaps)
        state.forgetGenerations()
        await effects.forgetAll()
        if let position { effects.reached(LogPlace(position, senders)) }
        return true
    }

    /// Waits for the next messages and obeys them. False if the log cannot be read, or no longer has the place: the log
    /// was emptied, and does not contain all messages since then.
    ///
    /// So the place is looked up after each read. If it were looked up before, messages that came in between would be
    /// mistaken for the next ones, and their place for a known one.
    private func readOn() async -> Bool {
        guard let from = position else { return false }
        let isFirst = !state.followsLog(at: loop.monotonicHere())
        let replies = await reader.perform(
            [
                state.keys.follow(from, forMilliseconds: isFirst ? SharedLog.firstBlock : SharedLog.block),
                state.keys.find(from),
            ], until: reader.instant(after: SharedLog.answerTime))
        guard case .success(let reply) = replies[0], let entries = LogEntry.list(ofStreams: reply),
            case .success(let place) = replies[1], place.elements?.count == 1
        else { return false }
        for entry in entries {
            if let message = entry.octets.flatMap({ state.messages.decode($0) }) {
                await take(message)
            } else {
                state.counters.add(.rejected)
            }
            position = entry.position
        }
        if let position, !entries.isEmpty { effects.reached(LogPlace(position, senders)) }
        // After a full batch there may be more.
        if entries.count < LogEntry.batch { state.heardLog(at: loop.monotonicHere()) }
        return true
    }

    private func take(_ message: LogMessage) async {
        if case .beginning = message.subject { return }
        // Messages of this process are recorded as well: after a restart they are from another sender.
        guard senders.admit(message.number, of: message.sender) else { return state.counters.add(.repeated) }
        if message.sender != state.sender { await obey(message.subject) }
    }

    private func obey(_ subject: LogMessage.Subject) async {
        state.counters.add(.received)
        if let (scope, generation) = subject.scope {
            state.replace(generation, of: scope, at: loop.monotonicHere())
        }
        await effects.obey(subject)
    }

    // MARK: Sending

    /// Sends the messages in the outbox, until it is empty.
    package func send() {
        guard !isSending, !isClosed else { return }
        isSending = true
        loop.startHere {
            await self.sendAll()
            self.isSending = false
        }
    }

    private func sendAll() async {
        while !isClosed {
            let items = state.nextToSend(SharedLog.sendBatch)
            if items.isEmpty { return }
            if await send(items) {
                state.confirm(items)
                state.counters.add(.sent, items.count)
            } else {
                await loop.sleep(for: SharedLog.pause)
            }
        }
    }

    /// `KnownSenders` relies on it: within a batch, a message may arrive before an earlier message that was refused.
    private static let sendBatch = 64

    /// Writes the generations first: a daemon that reads the message finds them replaced.
    private func send(_ items: [SharedOutbox.Item]) async -> Bool {
        let deadline = writer.instant(after: writer.settings.connectTimeout)
        var generations: [Command] = []
        for item in items {
            if let key = item.subject.key { generations += state.keys.invalidate(key, .random()) }
            if let (scope, generation) = item.subject.scope {
                generations.append(state.keys.replace(generation, of: scope))
            }
        }
        let replaced = await writer.perform(generations, until: deadline)
        guard replaced.allSatisfy(SharedLog.isDone) else { return false }
        let messages = items.map { item in
            state.keys.append(state.messages.encode(LogMessage(from: state.sender, item.number, item.subject)))
        }
        return await writer.perform(messages, until: deadline).allSatisfy(SharedLog.isDone)
    }

    private static func isDone(_ outcome: EngineOutcome) -> Bool { if case .success = outcome { true } else { false } }
}

/// An entry of the log.
struct LogEntry {
    static let batch = 256

    let position: String
    /// The message; nil for an entry that has none.
    let octets: [UInt8]?

    /// The entries in a reply to `XRANGE` and `XREVRANGE`; nil when it is something else.
    static func list(_ reply: Reply) -> [LogEntry]? {
        guard let parts = reply.elements else { return nil }
        var entries: [LogEntry] = []
        for part in parts {
            guard let pair = part.elements, pair.count == 2, let position = pair[0].text, isPosition(position) else {
                return nil
            }
            let fields = pair[1].elements ?? []
            let isMessage = fields.count == 2 && fields[0].text == "m"
            entries.append(LogEntry(position: position, octets: isMessage ? fields[1].octets : nil))
        }
        return entries
    }

    /// The same for `XREAD`, which replies nothing when nothing came.
    static func list(ofStreams reply: Reply) -> [LogEntry]? {
        if reply == .null { return [] }
        guard let streams = reply.elements, streams.count == 1, let pair = streams[0].elements, pair.count == 2 else {
            return nil
        }
        return list(pair[1])
    }

    /// Two numbers with a hyphen between them.
    static func isPosition(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { UInt64($0) != nil }
    }
}
