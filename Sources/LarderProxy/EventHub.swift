// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO

/// Distributes the changes of Resources to the event streams about them.
///
/// The hub's thread formats each change from the feed once, and puts it into the mailbox of every loop with a stream
/// about the Resource; the loop sends it to its streams. So a change costs its Resource the same for any number of
/// observers. All queues are bounded: slow readers get a snapshot instead of the events they missed.
package final class EventHub: Sendable {
    private struct State {
        var topics: [EventSubject.Key: Topic] = [:]
        var exact: [EventKey: [Topic]] = [:]
        var broad: [Topic] = []
        var lastTopic = 0
        var worker: WorkerPool?
        var isClosed = false
        /// Exchanges waiting to be reported.
        var notes: [RequestNote] = []
    }

    /// Exchanges beyond the limit are not reported: the log is complete.
    private static let noteLimit = 2_048

    /// The streams with one subject.
    final class Topic: Sendable {
        let number: Int
        let subject: EventSubject
        /// The loops with such streams.
        let mailboxes = Lock<[EventMailbox]>([])

        init(number: Int, subject: EventSubject) {
            self.number = number
            self.subject = subject
        }
    }

    private let feed: ChangeFeed
    private let time: any TimeSource
    private let state = Lock(State())

    init(feed: ChangeFeed, time: any TimeSource) {
        self.feed = feed
        self.time = time
    }

    /// The number of different subjects.
    package var topicCount: Int { state.withLock { $0.topics.count } }

    /// The individually watched resources, in the order of their URLs.
    var watched: [ResourceSubject] {
        let topics = state.withLock { $0.exact.values.flatMap { $0 } }
        return topics.compactMap { topic -> ResourceSubject? in
            if case .resource(let subject) = topic.subject.scope { subject } else { nil }
        }.sorted { $0.url < $1.url }
    }

    /// True if someone observes this resource: by its URL, or by a pattern that selects it.
    func isWatched(_ resource: Resource) -> Bool {
        if resource.memory.isObserved { return true }
        let selective = state.withLock { $0.broad.filter(\.subject.isSelective) }
        guard !selective.isEmpty, let moment = resource.memory.moment else { return false }
        return selective.contains { topic in
            if case .matching(let accepts) = topic.subject.scope { accepts(moment) } else { false }
        }
    }

    // MARK: Topics

    /// The topic of `subject`, whose events are delivered to `mailbox` from now on; nil when the hub has been closed.
    func join(_ subject: EventSubject, _ mailbox: EventMailbox) -> Topic? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            if state.worker == nil { startWorker(&state) }
            let topic = state.topics[subject.key] ?? make(subject, &state)
            topic.mailboxes.withLock { $0.append(mailbox) }
            feed.listen()
            return topic
        }
    }

    func leave(_ topic: Topic, _ mailbox: EventMailbox) {
        state.withLock { state in
            let isUnwatched = topic.mailboxes.withLock { mailboxes in
                mailboxes.removeAll { $0 === mailbox }
                return mailboxes.isEmpty
            }
            feed.ignore()
            guard isUnwatched else { return }
            state.topics[topic.subject.key] = nil
            if let key = topic.subject.exactKey {
                state.exact[key]?.removeAll { $0 === topic }
                if state.exact[key]?.isEmpty == true { state.exact[key] = nil }
            } else {
                state.broad.removeAll { $0 === topic }
            }
        }
    }

    private func make(_ subject: EventSubject, _ state: inout State) -> Topic {
        state.lastTopic += 1
        let topic = Topic(number: state.lastTopic, subject: subject)
        state.topics[subject.key] = topic
        if let key = subject.exactKey {
            state.exact[key, default: []].append(topic)
        } else {
            state.broad.append(topic)
        }
        return topic
    }

    // MARK: Passing on

    private func startWorker(_ state: inout State) {
        // One batch may be processed while the next one is queued.
        let worker = WorkerPool(name: "larder-events", threads: 1, queueLimit: 4)
        state.worker = worker
        feed.onChange { [weak self] in
            guard let self else { return }
            _ = worker.submit { self.passOn() }
        }
    }

    private func passOn() {
        let batch = feed.take()
        let (exact, broad, all) = state.withLock { ($0.exact, $0.broad, $0.topics) }
        if batch.hasGap {
            for topic in all.values { for mailbox in topic.mailboxes.withLock({ $0 }) { mailbox.putGap() } }
        }
        for (number, change) in batch.changes {
            var topics = exact[EventKey(service: change.key.serviceNumber, url: change.key.url)] ?? []
            for topic in broad {
                if case .matching(let accepts) = topic.subject.scope, accepts(change) { topics.append(topic) }
            }
            var worded: [Bool: ContentChunk] = [:]
            let now = Timestamp(nanoseconds: time.now())
            for topic in topics {
                let subject = topic.subject
                let octets =
                    worded[subject.hasContent]
                    ?? ContentChunk(subject.text.event(change, withContent: subject.hasContent, now: now))
                worded[subject.hasContent] = octets
                var item = EventItem(number: number, key: change.key, sequence: change.sequence, octets: octets)
                if case .progress(_, let load) = change.what { item.progressOf = ObjectIdentifier(load) }
                for mailbox in topic.mailboxes.withLock({ $0 }) { mailbox.put(item, for: topic.number) }
            }
        }
    }

    /// Reports an exchange to the streams about exchanges.
    func tell(_ note: RequestNote) {
        let worker = state.withLock { state -> WorkerPool? in
            guard state.notes.count < EventHub.noteLimit else { return nil }
            state.notes.append(note)
            return state.notes.count == 1 ? state.worker : nil
        }
        if let worker, !worker.submit({ self.passOnNotes() }) { state.withLock { $0.notes = [] } }
    }

    private func passOnNotes() {
        let (notes, topics) = state.withLock { state in
            defer { state.notes = [] }
            return (state.notes, state.topics.values.filter { $0.subject.requests != nil })
        }
        for note in notes {
            for topic in topics where topic.subject.requests?(note) == true {
                let octets = ContentChunk(topic.subject.text.event(note))
                // Not contained in any snapshot.
                let item = EventItem(number: .max, key: ResourceKey(), sequence: .max, octets: octets)
                for mailbox in topic.mailboxes.withLock({ $0 }) { mailbox.put(item, for: topic.number) }
            }
        }
    }

    /// Ends the thread. Later changes are not reported.
    func close() {
        let worker = state.withLock { state in
            state.isClosed = true
            return state.worker.take()
        }
        worker?.shutdown()
    }
}

/// Events on their way to a loop.
final class EventMailbox: Sendable {
    struct Content: Sendable {
        var items: [(topic: Int, item: EventItem)] = []
        /// True if events were dropped: every stream of the loop needs a snapshot.
        var hasGap = false
    }

    private struct State {
        var content = Content()
        var isAnnounced = false
    }

    private let state = Lock(State())
    /// Has the loop take the content.
    private let announce: @Sendable () -> Void
    private static let limit = 8_192

    init(announce: @escaping @Sendable () -> Void) { self.announce = announce }

    func put(_ item: EventItem, for topic: Int) {
        change { content in
            if content.items.count >= EventMailbox.limit {
                content.items.removeAll(keepingCapacity: true)
                content.hasGap = true
            }
            content.items.append((topic, item))
        }
    }

    func putGap() { change { $0.hasGap = true } }

    /// Removes and returns the content.
    func content() -> Content {
        state.withLock { state in
            defer { state = State() }
            return state.content
        }
    }

    private func change(_ change: (inout Content) -> Void) {
        let mustAnnounce = state.withLock { state in
            change(&state.content)
            defer { state.isAnnounced = true }
            return !state.isAnnounced
        }
        if mustAnnounce { announce() }
    }
}
