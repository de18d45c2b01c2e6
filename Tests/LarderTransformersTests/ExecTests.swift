// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderHTTP
import LarderIO
import LarderTesting
import Testing

@testable import LarderTransformers

@Suite("Programs as transformers")
struct ExecTests {
    private func fixture(
        _ arguments: String..., timeout: Duration = .seconds(60), concurrency: Int = 4, type: String? = nil,
        limit: Int = 1 << 20
    ) -> Fixture {
        var command = ExecCommand(arguments)
        command.timeout = timeout
        command.concurrency = concurrency
        command.contentType = type
        var options = TransformerOptions()
        options.sizeLimit = limit
        return Fixture(Transformers.exec(ExecProgram(command), options))
    }

    /// Whether a process is there, other than as an entry that nobody has asked about.
    private func isRunning(_ process: Int32) -> Bool {
        guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
        return stat.split(separator: ")").last?.split(separator: " ").first != "Z"
    }

    private func reason(_ transformed: TransformedResponse) -> ExecFailure.Reason? {
        #expect(transformed.error?.stage == .model)
        #expect(transformed.error?.transformer?.hasPrefix("exec /") == true)
        return (transformed.error?.cause as? ExecFailure)?.reason
    }

    @Test func `a program makes new content of what it reads`() async {
        let transformed = await fixture("/usr/bin/tr", "a-z", "A-Z", type: "text/x-loud").transform("hello")
        #expect(transformed.text == "HELLO")
        #expect(transformed.fields?[.contentType] == "text/x-loud")
        #expect(transformed.fields?[.eTag] == nil)
    }

    @Test func `content of any size goes through`() async {
        let content = String(repeating: "0123456789", count: 60_000)
        #expect(await fixture("/bin/cat").transform(content).text == content)
    }

    @Test func `a program need not read what it is given`() async {
        let content = String(repeating: "0123456789", count: 60_000)
        #expect(await fixture("/bin/echo", "-n", "$HOME; *").transform(content).text == "$HOME; *")
    }

    @Test func `it sees little of the daemon's environment and none of its files`() async {
        let shown = await fixture("/usr/bin/env").transform("x").text ?? ""
        let names = shown.split(separator: "\n").map { $0.prefix { $0 != "=" } }
        #expect(Set(names).isSubset(of: ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"]))
        #expect(await fixture("/bin/ls", "/proc/self/fd").transform("x").text == "0\n1\n2\n3\n")
    }

    @Test func `another status than 0 is an error with the first line of complaint`() async {
        let failed = await fixture("/bin/sh", "-c", "echo partly; echo 'not \u{1B}today' >&2; echo more >&2; exit 3")
            .transform("x")
        #expect(reason(failed) == .failed(.exited(3), "not today"))
        #expect(failed.error?.userMessage == "/bin/sh ended with exit status 3: not today")
        let killed = await fixture("/bin/sh", "-c", "kill -9 $$").transform("x")
        #expect(reason(killed) == .failed(.killed(signal: 9), ""))
    }

    @Test func `a program that is not there is an error`() async {
        guard case .notStarted(let detail) = reason(await fixture("/nowhere/at-all").transform("x")) else {
            Issue.record("it started")
            return
        }
        #expect(!detail.isEmpty)
    }

    @Test func `a program that hangs is killed with what it started`() async throws {
        let directory = FreshDirectory()
        let script = "sleep 600 & echo $! > \(directory.path)/pid; wait"
        let hung = await fixture("/bin/sh", "-c", script, timeout: .milliseconds(300)).transform("x")
        #expect(reason(hung) == .timedOut(.milliseconds(300)))
        let text = try #require(try? String(contentsOfFile: directory.path + "/pid", encoding: .utf8))
        let process = try #require(Int32(text.prefix { $0 != "\n" }))
        while isRunning(process) { await Task.yield() }
    }

    @Test func `what a program leaves running does not hold its result up`() async {
        #expect(await fixture("/bin/sh", "-c", "sleep 600 & echo done").transform("x").text == "done\n")
    }

    @Test func `a program that writes too much is stopped`() async {
        #expect(reason(await fixture("/usr/bin/yes", limit: 10_000).transform("x")) == .tooLarge(limit: 10_000))
    }

    @Test func `so many run at a time, and others wait for their turn`() async {
        let fixture = fixture("/bin/cat", concurrency: 1)
        await withTaskGroup(of: String?.self) { group in
            for _ in 0..<6 { group.addTask { await fixture.transform("x").text } }
            for await text in group { #expect(text == "x") }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a program that hangs does not hold up the transformations of others`() async throws {
        let directory = FreshDirectory()
        let pipe = directory.path + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        let workers = WorkerPool(name: "test", threads: 1, queueLimit: 8)
        let threads = TransformerThreads { workers.submit($0) }
        var options = TransformerOptions()
        options.sizeLimit = 1 << 20
        let filtered = options
        let command = ExecCommand(["/bin/cat", pipe])
        let hanging = Fixture {
            $0.pipeline[.model].add(Transformers.exec(ExecProgram(command), filtered), contentTypes: ["text/*"])
        }
        let other = Fixture { $0.pipeline.add(.json) }
        async let held = hanging.transform(Array("x".utf8), type: "text/plain", on: threads)
        // The program is there: it has opened the pipe to read.
        let file = await Task.detached { open(pipe, O_WRONLY) }.value
        #expect(await other.transform(Array("{ }".utf8), on: threads).text == "{}")
        #expect(write(file, "y", 1) == 1)
        close(file)
        #expect(await held.text == "y")
    }

    @Test func `a program ends, with what it started, when the time of all transformers is over`() async throws {
        let directory = FreshDirectory()
        var command = ExecCommand(["/bin/sh", "-c", "sleep 600 & echo $! > \(directory.path)/pid; wait"])
        command.timeout = .seconds(20)
        let exec = command
        let fixture = Fixture {
            $0.pipeline[.model].add(Transformers.exec(ExecProgram(exec), TransformerOptions()))
            $0.transformTimeout = .milliseconds(300)
        }
        // The fixture's clock stands still: only the program itself can notice.
        let hung = await fixture.transform("x")
        #expect((hung.error?.cause as? TransformerTimedOut)?.limit == .milliseconds(300))
        #expect(hung.error?.transformer == "exec /bin/sh")
        let text = try #require(try? String(contentsOfFile: directory.path + "/pid", encoding: .utf8))
        let process = try #require(Int32(text.prefix { $0 != "\n" }))
        while isRunning(process) { await Task.yield() }
    }

    @Test func `JSON that another transformer made is what the program reads`() async {
        var options = TransformerOptions()
        options.transformErrors = true
        let set = options
        let fixture = Fixture {
            $0.pipeline.add(.json)
            $0.pipeline[.model].add(Transformers.exec(ExecProgram(ExecCommand(["/bin/cat"])), set))
        }
        #expect(await fixture.transform("{ \"a\" : 1 }").text == #"{"a":1}"#)
        let failed = await fixture.transform("{ \"a\" : 2 }", 500)
        #expect(failed.text == #"{"a":2}"#)
        #expect(failed.error?.status == 500)
    }
}
