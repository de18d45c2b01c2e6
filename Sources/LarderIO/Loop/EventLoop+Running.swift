// SPDX-License-Identifier: Apache-2.0

extension EventLoop {
    /// Runs `job` as a task of the loop, from any thread, and waits for its result.
    package nonisolated func run<Value: Sendable>(
        _ job: @escaping @Sendable (isolated EventLoop) async throws -> Value
    ) async throws -> Value {
        let result: Result<Value, any Error> = await handedOver { finish in
            spawn { loop in
                do {
                    finish(.success(try await job(loop)))
                } catch {
                    finish(.failure(error))
                }
            }
        }
        return try result.get()
    }
}
