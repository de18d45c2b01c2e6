// SPDX-License-Identifier: Apache-2.0
import LarderIO

extension StoreCore {
    /// Commits the accepted operations, checkpoints the log, and ends all threads. Blocks; not from one of the threads.
    func close(_ writer: Thread) {
        queue.refuse()
        // Complete content still gets its file and its row.
        spoolers.dismiss()
        queue.beginClosing()
        writer.join()
        set(.closed)
        readers.dismiss()
        queue.close()
        files.directory.release()
    }

    /// Ends the threads of a store that could not be opened.
    func dismissThreads() {
        spoolers.dismiss()
        readers.dismiss()
    }
}
