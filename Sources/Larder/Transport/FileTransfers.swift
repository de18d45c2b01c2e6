// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP
import LarderIO
import LarderUpstream

/// A request whose response is written to a file.
public struct DownloadRequest: Sendable {
    /// The request.
    public var request: OutgoingRequest
    /// The path of the file. It is created, or replaces an existing one, when all content has arrived.
    public var path: String
    /// Reports the progress, at any time.
    public var progress: TransferProgress

    /// Makes a request for a file.
    public init(_ request: OutgoingRequest, to path: String, progress: TransferProgress = TransferProgress()) {
        self.request = request
        self.path = path
        self.progress = progress
    }
}

/// A file that was received.
public struct DownloadedFile: Sendable, Hashable {
    /// The path.
    public let path: String
    /// The length in bytes.
    public let count: Int

    /// Makes a value from the path and length of a file.
    public init(path: String, count: Int) {
        self.path = path
        self.count = count
    }
}

/// A request with content from a file or from memory.
public struct UploadRequest: Sendable {
    /// The source of the content.
    public enum Source: Sendable, Hashable {
        /// In memory.
        case octets([UInt8])
        /// In the file at a path, which is read while it is sent.
        case file(String)
    }

    /// The request; its own body is ignored.
    public var request: OutgoingRequest
    /// The content.
    public var source: Source
    /// Reports the progress, at any time.
    public var progress: TransferProgress

    /// Makes a request with content.
    public init(_ request: OutgoingRequest, source: Source, progress: TransferProgress = TransferProgress()) {
        self.request = request
        self.source = source
        self.progress = progress
    }
}

extension OriginTransport {
    /// A session that writes content of any length to files as it arrives.
    ///
    /// Only responses with a status of 2xx become files; others are an `HTTPError`. If anything fails, or the task is
    /// cancelled, no file remains, and an existing one at the path stays.
    public var download: AnySession<DownloadRequest, Message<ResponseHead, DownloadedFile>, any Error> {
        AnySession(single: { try await self.download($0) })
    }

    /// A session that sends content of any length from files or from memory.
    public var upload: AnySession<UploadRequest, IncomingResponse, any Error> {
        AnySession(single: { upload in
            switch upload.source {
            case .octets(let octets): try await self.send(upload.request, .octets(octets), upload.progress)
            case .file(let path):
                try await self.send(
                    upload.request, .file(try await TransferFiles.run { try FileReader(path: path) }), upload.progress)
            }
        })
    }

    private func download(_ download: DownloadRequest) async throws -> Message<ResponseHead, DownloadedFile> {
        let progress = download.progress
        let content = download.request.body.map(OutgoingContent.octets) ?? .none
        return try await exchange(progress).perform(download.request, content) { arrival in
            let response = arrival.response
            guard response.head.status.isSuccess else {
                response.abort()
                throw HTTPError(head: response.head)
            }
            let file = try await TransferFiles.run { try FileWriter(path: download.path) }
            var count = 0
            while let chunk = try await response.nextChunk() {
                try await file.write(chunk)
                count += chunk.count
                progress.update { $0.received = count }
            }
            try await file.finish()
            return Message(response: response.head, body: DownloadedFile(path: file.path, count: count))
        }
    }
}
