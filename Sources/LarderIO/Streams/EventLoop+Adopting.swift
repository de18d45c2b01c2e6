// SPDX-License-Identifier: Apache-2.0

extension EventLoop {
    /// A stream over a connected socket, which the stream owns from then on.
    package nonisolated func adoptHere(_ descriptor: Int32, peer: SocketAddress) throws(IOError) -> ByteStream {
        // Holds: see `timerHere`.
        let stream: Confined<Result<ByteStream, IOError>> = assumeIsolated { loop in
            do throws(IOError) {
                return Confined(.success(try ByteStream(adopting: descriptor, on: loop, peer: peer)))
            } catch {
                return Confined(.failure(error))
            }
        }
        return try stream.value.get()
    }
}
