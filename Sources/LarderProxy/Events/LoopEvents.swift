// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO

/// The event streams of one loop. Confined to it.
///
/// Streams with the same subject share a short list of events, in which each has its position; so a stream costs the
/// same however far it is behind, and one whose position has left the list gets a snapshot.
final class LoopEvents {
    private let loop: EventLoop
    // Holds: the proxy has the loops, and ends them before it goes.
    private unowned let proxy: Proxy
    private var topics: [EventSubject.Key: LoopTopic] = [:]
    private var byNumber: [Int: LoopTopic] = [:]
    /// Receives events for this loop; exists while there are streams.
    private var mailbox: EventMailbox?
    private var heartbeat: Timer?
    private var bytes = 0
    /// Snapshots that are being made, by the topics' numbers.
    private let making = FirstCaller<Int>()

    /// How often a silent stream sends a heartbeat.
    static let heartbeatInterval = Duration.seconds(15)
    /// The size limit for the lists of all topics of a loop, beyond which each is cut to its newest event.
    private static let byteLimit = 8 << 20
    /// How many streams are woken in one round of the loop's work. The kernel is polled after a few rounds, so others
    /// on the loop wait for some hundred writes at most.
    private static let slice = 16

    init(loop: EventLoop, proxy: Proxy) {
        self.loop = loop
        self.proxy = proxy
    }

    // MARK: Streams

    /// A new stream; nil when Larder is stopping. `leave` must follow.
    func subscribe(to subject: EventSubject) -> EventSubscriber? {
        guard let topic = topics[subject.key] ?? make(subject) else { return nil }
        topic.subscribers += 1
        if heartbeat == nil { beat() }
        return EventSubscriber(topic)
    }

    func leave(_ subscriber: EventSubscriber) {
        let topic = subscriber.topic
        topic.waiting[ObjectIdentifier(subscriber)] = nil
        topic.subscribers -= 1
        guard topic.subscribers == 0 else { return }
        bytes -= topic.bytes
        topics[topic.subject.key] = nil
        byNumber[topic.hubTopic.number] = nil
        topic.resource?.memory.removeObserver()
        if let mailbox { proxy.events.leave(topic.hubTopic, mailbox) }
        if topic.subject.requests != nil { proxy.requests.ignore() }
        if topics.isEmpty {
            mailbox = nil
            heartbeat?.cancel()
            heartbeat = nil
        }
    }

    private func make(_ subject: EventSubject) -> LoopTopic? {
        let mailbox = mailbox ?? makeMailbox()
        guard let hubTopic = proxy.events.join(subject, mailbox) else { return nil }
        self.mailbox = mailbox
        let topic = LoopTopic(subject: subject, hubTopic: hubTopic, resource: subject.resource(in: proxy.registry))
        topic.resource?.memory.addObserver()
        if let resource = topic.resource { proxy.observationBegan(of: resource) }
        if subject.requests != nil { proxy.requests.listen() }
        topics[subject.key] = topic
        byNumber[hubTopic.number] = topic
        proxy.tellProgress()
        return topic
    }

    private func makeMailbox() -> EventMailbox {
        let owner = LoopBound(self, on: loop)
        return EventMailbox { owner.execute { $0.receive() } }
    }

    /// The state of the subject of `subscriber`, whose position is behind it from now on.
    func snapshot(for subscriber: EventSubscriber) async -> ContentChunk {
        let topic = subscriber.topic
        var known = topic.known(for: proxy, isEnough: subscriber.isLate)
        while true {
            if let (snapshot, place) = known {
                subscriber.position = place
                subscriber.start = snapshot
                return snapshot.octets
            }
            // Many may come at once. All get what the first of them makes, and the events since that was begun.
            let number = topic.hubTopic.number
            if await making.begin(number) {
                let place = topic.end
                topic.remember(
                    await topic.subject.text.snapshot(of: topic.subject, topic.resource, in: proxy), at: place)
                making.end(number)
            }
            known = topic.latest
        }
    }

    // MARK: Events

    /// Passes on the events for this loop.
    func receive() {
        guard let content = mailbox?.content() else { return }
        var changed: [LoopTopic] = []
        if content.hasGap {
            for topic in topics.values {
                bytes -= topic.drop()
                topic.isMarked = true
                changed.append(topic)
            }
        }
        for (number, item) in content.items {
            guard let topic = byNumber[number] else { continue }
            bytes += topic.append(item, isTight: bytes > LoopEvents.byteLimit)
            if !topic.isMarked {
                topic.isMarked = true
                changed.append(topic)
            }
        }
        for topic in changed {
            topic.isMarked = false
            wake(topic)
        }
    }

    /// Wakes the streams that wait for the current events, some in each turn, so that others on the loop are served.
    private func wake(_ topic: LoopTopic) {
        guard topic.toWake.isEmpty else { return }
        topic.toWake = Array(topic.waiting.values)
        wakeSome(topic)
    }

    private func wakeSome(_ topic: LoopTopic) {
        for _ in 0..<min(LoopEvents.slice, topic.toWake.count) {
            let subscriber = topic.toWake.removeLast()
            if topic.waiting[ObjectIdentifier(subscriber)] != nil { subscriber.resume() }
        }
        if topic.toWake.isEmpty {
            bytes -= topic.trim()
            // Later events are for streams that wait again.
            if topic.waiting.values.contains(where: \.hasSomething) { later(topic, wake) }
        } else {
            later(topic, wakeSome)
        }
    }

    private func later(_ topic: LoopTopic, _ step: @escaping (LoopTopic) -> Void) {
        let job = Confined((topic, step))
        loop.execute { _ in job.value.1(job.value.0) }
    }

    // MARK: Time and end

    private func beat() {
        heartbeat = loop.timerHere(after: LoopEvents.heartbeatInterval) { [weak self] in
            guard let self else { return }
            for topic in topics.values {
                topic.beats += 1
                wake(topic)
            }
            beat()
        }
    }

    /// Ends all streams.
    func close() {
        for topic in topics.values {
            topic.isEnding = true
            wake(topic)
        }
    }
}

/// The streams of one loop with the same subject, and the events that some of them have not sent yet.
final class LoopTopic {
    let subject: EventSubject
    let hubTopic: EventHub.Topic
    /// The watched one; nil for a pattern.
    let resource: Resource?
    private var items: [EventItem] = []
    /// The position of `items[0]`.
    private(set) var first = 0
    private(set) var bytes = 0
    var subscribers = 0
    var waiting: [ObjectIdentifier: EventSubscriber] = [:]
    /// Streams still to be woken for the current events.
    var toWake: [EventSubscriber] = []
    /// The number of heartbeats.
    var beats = 0
    var isEnding = false
    var isMarked = false
    /// The latest snapshot, and the position of the first event that it may not contain.
    private(set) var latest: (snapshot: EventSnapshot, place: Int)?

    private static let itemLimit = 256
    private static let byteLimit = 256 << 10

    init(subject: EventSubject, hubTopic: EventHub.Topic, resource: Resource?) {
        self.subject = subject
        self.hubTopic = hubTopic
        self.resource = resource
    }

    /// The position behind the last event.
    var end: Int { first + items.count }

    /// Adds an event; returns by how many bytes the list has grown.
    func append(_ item: EventItem, isTight: Bool) -> Int {
        let before = bytes
        supersede(by: item)
        items.append(item)
        bytes += item.octets.count
        var dropped = 0
        while items.count - dropped > (isTight ? 1 : LoopTopic.itemLimit)
            || bytes > LoopTopic.byteLimit && items.count - dropped > 1
        {
            bytes -= items[dropped].octets.count
            dropped += 1
        }
        items.removeFirst(dropped)
        first += dropped
        return bytes - before
    }

    /// Removes earlier progress reports of a load, for streams that have not sent them yet.
    private func supersede(by item: EventItem) {
        guard let load = item.progressOf, let index = items.lastIndex(where: { $0.progressOf == load }) else { return }
        bytes -= items[index].octets.count
        items[index] = items[index].silent
    }

    /// Drops events that every stream has sent; returns their bytes.
    func trim() -> Int {
        guard waiting.count == subscribers, !waiting.values.contains(where: \.hasSomething) else { return 0 }
        defer { bytes = 0 }
        first = end
        items.removeAll()
        return bytes
    }

    /// Events were lost: every stream needs a snapshot. Returns how many bytes were dropped with them.
    func drop() -> Int {
        defer { bytes = 0 }
        // A position that no stream has reached.
        first = end + 1
        items.removeAll()
        return bytes
    }

    /// Up to `limit` events from a position on, except events that `start` contains.
    func events(from place: Int, after start: EventSnapshot?, limit: Int) -> (chunks: [ContentChunk], next: Int) {
        var chunks: [ContentChunk] = []
        var place = place
        while place < end, chunks.count < limit {
            let item = items[place - first]
            if !item.isSilent, start?.contains(item) != true { chunks.append(item.octets) }
            place += 1
        }
        return (chunks, place)
    }

    /// The latest snapshot if it can be reused: when nothing has changed since and it is less than a second old. For a
    /// late stream it is enough that the later events are still in the list.
    func known(for proxy: Proxy, isEnough: Bool) -> (snapshot: EventSnapshot, place: Int)? {
        guard let latest, latest.snapshot.at.seconds == proxy.now.seconds, latest.place == end else { return nil }
        return isEnough || latest.snapshot.complete == proxy.registry.feed.last ? latest : nil
    }

    func remember(_ snapshot: EventSnapshot, at place: Int) { latest = (snapshot, place) }
}

/// One event stream: its position among the events of its subject.
final class EventSubscriber {
    enum Word {
        /// The state is to be sent, at first or in place of missed events.
        case snapshot
        case events([ContentChunk])
        case heartbeat
        /// Larder is stopping.
        case ending
        case gone
    }

    let topic: LoopTopic
    var position: Int
    /// The last snapshot sent; events contained in it are not sent again.
    var start: EventSnapshot?
    /// True if it needs the snapshot because it missed events.
    var isLate = false
    private var needsSnapshot = true
    private var beats: Int
    private var isGone = false
    private var continuation: UnsafeContinuation<Void, Never>?

    /// Events that go out in one write.
    private static let limit = 32

    init(_ topic: LoopTopic) {
        self.topic = topic
        position = topic.end
        beats = topic.beats
    }

    /// True if `next` would not wait.
    var hasSomething: Bool {
        needsSnapshot || isGone || topic.isEnding || position != topic.end || beats != topic.beats
    }

    /// The next item to send.
    func next() async -> Word {
        while true {
            if isGone { return .gone }
            if topic.isEnding { return .ending }
            if needsSnapshot || position < topic.first {
                isLate = !needsSnapshot
                needsSnapshot = false
                return .snapshot
            }
            let (chunks, place) = topic.events(from: position, after: start, limit: EventSubscriber.limit)
            position = place
            if !chunks.isEmpty { return .events(chunks) }
            if beats != topic.beats {
                beats = topic.beats
                return .heartbeat
            }
            guard position == topic.end else { continue }
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                self.continuation = continuation
                topic.waiting[ObjectIdentifier(self)] = self
                // An event may have arrived between the check and the wait.
                if hasSomething { resume() }
            }
        }
    }

    /// The client has gone.
    func end() {
        isGone = true
        resume()
    }

    /// Ends the wait, if there is one.
    func resume() {
        topic.waiting[ObjectIdentifier(self)] = nil
        continuation.take()?.resume()
    }
}
