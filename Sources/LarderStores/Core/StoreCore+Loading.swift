// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import Synchronization

/// Background work after a store was opened.
extension StoreCore {
    /// Loads labels and keys, and removes orphaned files, after a database was opened.
    func loadInBackground() {
        // Without a thread for this job, the store still works, but it reads the disk more often.
        _ = spoolers.submit { [self] _ in
            loadLabels()
            loadKeys()
            removeOrphans()
        }
    }

    /// Loads the stored labels. Afterwards an unused label is recognised without reading the disk.
    func loadLabels() {
        let generation = generation
        do {
            let reader = try makeReader(generation: generation)
            try reader.forEachLabelHash { hash in
                labels.insert(hash)
                return self.generation == generation && !isClosing
            }
            guard self.generation == generation, !isClosing else { return }
            labelLimit.store(max(labels.count * 2, 1 << 16), ordering: .relaxed)
            labels.isLoaded = true
        } catch {
            failed(error, generation: generation)
        }
    }

    /// Loads the stored keys, so that from then on a miss is known without reading the disk.
    func loadKeys() {
        let generation = generation
        do {
            let reader = try makeReader(generation: generation)
            var count = 0
            try reader.forEachKeyHash { hash in
                index.insert(hash)
                count += 1
                return self.generation == generation && !isClosing
            }
            try reader.forEachMark { hash in
                index.restoreMark(hash)
                return self.generation == generation && !isClosing
            }
            guard self.generation == generation, !isClosing else { return }
            index.isLoaded = true
            emit(.keysLoaded(count: count))
        } catch {
            failed(error, generation: generation)
        }
    }

    /// Deletes files without a row: unfinished files of an earlier run, and files of a database that is gone.
    func removeOrphans() {
        var removed = files.removeLeftOvers()
        let generation = generation
        do throws(SQLiteFailure) {
            let reader = try makeReader(generation: generation)
            var failure: SQLiteFailure?
            files.forEachFile { digest in
                guard failure == nil, !isClosing, self.generation == generation, files.claim(on: digest) == nil
                else { return }
                do throws(SQLiteFailure) {
                    guard try !reader.hasContent(digest) else { return }
                    // The writer checks again: a row may just have been committed.
                    if queue.post(.checkOrphan(digest)) { removed += 1 }
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
        } catch {
            failed(error, generation: generation)
        }
        if removed > 0 { emit(.orphansRemoved(files: removed)) }
    }
}
