// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO

/// How far an entity is written, and what was appended.
extension EntityWriter {
    enum Phase {
        /// In memory, while it may stay there.
        case gathering
        /// To a file.
        case spooling
        case finished
        /// Not to be stored, but readers may still need what was appended.
        case withheld(EntityWriterState.AbandonReason)
        case abandoned(EntityWriterState.AbandonReason)
    }

    struct State {
        var phase = Phase.gathering
        /// The length of the appended content.
        var length: Int64 = 0
        /// The content in memory, in order: all of it, or the part after the bytes in the file.
        var chunks: [ContentChunk] = []
        /// How many of `chunks` are being written now.
        var writing = 0
        /// The bytes in the file.
        var written: Int64 = 0
        var file: SpoolFile?
        /// Created and used by the one job that is scheduled.
        var hashing: ContentHashing?
        var isScheduled = false
        /// True if what was there before stays, although it could not be stored.
        var isUnwanted = false
        /// The operation that can run when the file is complete.
        var operation: Operation?
        /// Bytes in memory that are counted against the limit of the queue.
        var held = 0

        /// Stops storing; appended content can still be read. Returns the operation that waited for the content.
        mutating func withhold(_ reason: EntityWriterState.AbandonReason) -> Operation? {
            switch phase {
            // A file that is being completed is stored unless it fails, even if its owner aborts.
            case .spooling where operation != nil && reason == .aborted: return nil
            case .gathering, .spooling:
                phase = .withheld(reason)
                return operation.take()
            case .finished, .withheld, .abandoned: return nil
            }
        }

        /// Why it is not stored; nil where it may be, or is.
        var refusal: EntityWriterState.AbandonReason? {
            switch phase {
            case .withheld(let reason), .abandoned(let reason): reason
            case .gathering, .spooling, .finished: nil
            }
        }

        /// True if content in memory goes to the file. Complete content does, stored or not, as slow readers may need it
        /// for long; content without room on disk does not.
        var isWriting: Bool {
            switch phase {
            case .spooling, .withheld(.aborted): true
            case .gathering, .finished, .withheld, .abandoned: false
            }
        }

        /// True if more content may be appended.
        var isOpen: Bool {
            switch phase {
            case .gathering, .spooling: operation == nil
            case .finished, .withheld, .abandoned: false
            }
        }
    }

    enum Step {
        case write([ContentChunk], at: Int64)
        case complete(Operation, SpoolFile, ContentHashing)
        case rest
    }

    enum Appending {
        case done(mustSchedule: Bool)
        case refused(EntityWriterState.AbandonReason)
    }

    enum Ending {
        case done
        case inline(ContentChunk?, held: Int)
        case file
        case abandoned(EntityWriterState.AbandonReason)
    }
}
