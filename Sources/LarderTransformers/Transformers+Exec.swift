// SPDX-License-Identifier: Apache-2.0
import Glibc
package import Larder
import LarderHTTP
package import LarderIO

/// A program that reads content from its standard input and writes the new content to its standard output.
package struct ExecCommand: Sendable, Hashable {
    /// The program's absolute path, then its arguments. No shell is involved.
    package var arguments: [String]
    /// The time limit; then it is killed with all its descendants.
    package var timeout: Duration = .seconds(10)
    /// The most concurrent processes. Others wait, as long as the transformation may take.
    package var concurrency = 4
    /// The media type of the output; nil if the command does not change it.
    package var contentType: String?

    package init(_ arguments: [String]) { self.arguments = arguments }
}

/// Why a program returned no new content.
package struct ExecFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Reason: Hashable, Sendable {
        /// It could not be started; with the system's message.
        case notStarted(String)
        /// It did not end with status 0; with the first line of its standard error.
        case failed(ChildProcess.Ending, String)
        case timedOut(Duration)
        /// The maximum number of processes was running all the time.
        case busy(Duration)
        case tooLarge(limit: Int)
    }

    package let program: String
    package let reason: Reason

    package var description: String {
        switch reason {
        case .notStarted(let detail): "\(program) could not be started: \(detail)"
        case .failed(let ending, ""): "\(program) ended with \(ending)"
        case .failed(let ending, let complaint): "\(program) ended with \(ending): \(complaint)"
        case .timedOut(let limit): "\(program) took longer than \(limit)"
        case .busy(let limit): "too many of \(program) were running for \(limit)"
        case .tooLarge(let limit): "\(program) wrote more than the \(limit) octets allowed"
        }
    }
}

extension Transformers {
    /// Makes new content with a program.
    package static func exec(_ program: ExecProgram, _ options: TransformerOptions) -> some ResponseTransformer {
        let command = program.command
        return EntityTransformer(
            transformerDescription: "exec \(command.arguments.first ?? "")", options: options,
            takes: "content that can be sent", isOutput: { $0 is [UInt8] },
            body: { entity, deadline in
                let decoded = try entity.decoded(limit: options.sizeLimit)
                guard let encodable = decoded.content as? any WireEncodable else {
                    throw EntityTransformer.WrongContent()
                }
                let input = try encodable.wireContent()
                let output = try program.run(input.octets, limit: options.sizeLimit, until: deadline)
                var result = decoded.withContent(output as any Sendable)
                if let type = command.contentType ?? input.contentType { result.fields[.contentType] = type }
                result.fields.remove(.contentEncoding)
                return result
            }, details: "\(command)", threads: program.threads)
    }
}

/// A command that runs repeatedly, with a limit on concurrent processes.
package final class ExecProgram: Sendable {
    package let command: ExecCommand
    /// Limits concurrency, as a response that passes several programs runs on the threads of the first.
    private let slots: Slots
    /// The threads that run transformations with this command.
    let threads: TransformerThreads

    package init(_ command: ExecCommand) {
        self.command = command
        let concurrency = max(1, command.concurrency)
        slots = Slots(concurrency)
        let own = PassingThreads(name: "larder-exec", limit: concurrency)
        threads = TransformerThreads { own.submit($0) }
    }

    /// Runs it with `input` on its standard input; what it writes is returned, `limit` bytes at most. At the deadline it
    /// is killed too, with `TransformerTimedOut` as the error; all others are an `ExecFailure`.
    package func run(_ input: [UInt8], limit: Int, until deadline: TransformDeadline? = nil) throws -> [UInt8] {
        let wait = ProgramLimit(command.timeout, until: deadline)
        guard slots.take(within: wait.left) else { throw wait.error(failure(.busy(command.timeout))) }
        defer { slots.giveBack() }
        let time = ProgramLimit(command.timeout, until: deadline)
        do {
            let child = try ChildProcess(
                path: command.arguments.first ?? "", arguments: Array(command.arguments.dropFirst()),
                environment: ChildEnvironment.usual)
            var output: [UInt8] = []
            let outcome = try child.exchange(
                input, closingInput: true, into: &output, limit: limit, until: time.end)
            switch outcome {
            case .timedOut: throw time.error(failure(.timedOut(command.timeout)))
            case .tooLarge: throw failure(.tooLarge(limit: limit))
            case .complete, .closed: break
            }
            let ending = child.end()
            guard ending == .exited(0) else { throw failure(.failed(ending, ExecProgram.line(child.complaint))) }
            return output
        } catch let error as IOError {
            throw failure(.notStarted(error.detail))
        }
    }

    private func failure(_ reason: ExecFailure.Reason) -> ExecFailure {
        ExecFailure(program: command.arguments.first ?? "", reason: reason)
    }

    /// The first line of a program's standard error, without terminal control characters.
    private static func line(_ complaint: [UInt8]) -> String {
        let line = complaint.prefix { $0 != 0x0A && $0 != 0x0D }.prefix(200)
        return String(
            String.UnicodeScalarView(
                String(decoding: line, as: UTF8.self).unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }))
    }
}

/// The variables that programs need to run at all. No others are inherited: they may contain secrets.
enum ChildEnvironment {
    static let usual: [String] = {
        let names: [String] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"]
        return names.compactMap { name in getenv(name).map { "\(name)=" + String(cString: $0) } }
    }()
}
