// SPDX-License-Identifier: Apache-2.0

package import LarderIO

/// A value confined to one loop; other threads can only send it work.
package struct LoopBound<Value>: Sendable {
    private let loop: EventLoop
    private let confined: Confined<Value>

    /// To be called on `loop`.
    package init(_ value: Value, on loop: EventLoop) {
        self.loop = loop
        confined = Confined(value)
    }

    /// Runs `job` on the loop, some time after this returns.
    package func execute(_ job: @escaping @Sendable (Value) -> Void) {
        let confined = confined
        loop.execute { _ in job(confined.value) }
    }

    /// Runs `job` on the loop and waits for its result.
    func perform<Result: Sendable>(_ job: @escaping @Sendable (Value) throws -> Result) async throws -> Result {
        let confined = confined
        return try await loop.perform { _ in try job(confined.value) }
    }

    /// Runs `job` as a task on the loop and waits for its result.
    func run<Result: Sendable>(_ job: @escaping @Sendable (Value) async throws -> Result) async throws -> Result {
        let confined = confined
        return try await loop.run { _ in try await job(confined.value) }
    }

    /// Waits for all jobs sent before.
    func turn() async { await loop.perform { _ in } }
}
