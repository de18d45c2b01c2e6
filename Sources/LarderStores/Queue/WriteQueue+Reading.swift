// SPDX-License-Identifier: Apache-2.0
import LarderIO
import Synchronization

/// The queue as readers use it: what is accepted and not committed yet.
extension WriteQueue {
    enum View {
        /// Only the database knows.
        case database
        case merge(Overlay)
        /// Read again when the content of this write is complete.
        case wait(Operation)
    }

    func view(of key: EntityKey) -> View {
        stripes.withStripe(of: key.hash) { terms, stripe in
            guard stripe.pending.count > 0 || !terms.removals.isEmpty else { return .database }
            var overlay = Overlay()
            for operation in stripe.pending[key.hash] where operation.key == key && !operation.isHidden {
                if operation.progress == .spooling { return .wait(operation) }
                overlay.operations.append(operation.change)
            }
            overlay.removals = terms.removals.byLabel
            for removal in terms.removals.unlabelled where removal.match.accepts(key) {
                overlay.hiddenThrough.append(removal.lastID.load(ordering: .relaxed))
            }
            return overlay.isEmpty ? .database : .merge(overlay)
        }
    }

    /// Up to which rows the versions of a key are being removed; nil for none.
    func wipedVersions(of key: EntityKey) -> Int64? {
        stripes.withStripe(of: key.hash) { terms, _ in
            terms.removals.all.values.filter { $0.reason == .wiped && $0.match.accepts(key) }
                .map { $0.lastID.load(ordering: .relaxed) }.max()
        }
    }

    /// The writes whose content is being written to a file.
    var spooling: [Operation] {
        stripes.withAll { state in state.pending.filter { $0.progress == .spooling } }
    }

    func waitForContent(of operation: Operation) async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isWaiting = stripes.withStripe(of: operation.key.hash) { _, _ in
                guard operation.progress == .spooling else { return false }
                operation.readers.append(continuation)
                return true
            }
            if !isWaiting { continuation.resume() }
        }
    }
}
