// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderSettings
import Testing

@testable import LarderProxy

@Suite("Repeating requests")
struct RetryDecisionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var rule: RetryRule? = RetryRule()
        var cause: RetryCause? = .unreachable
        var attempt = 1
        var method = LarderHTTP.Method.get
        var isRepeatable = true
        var retryAfter: Duration?
        var chance = 0.0
        var left = Duration.seconds(60)
        var hasBudget = true
        let decision: RetryDecision
    }

    static let rows: [Row] = [
        Row(testDescription: "the first wait", decision: .repeatAfter(.milliseconds(200))),
        Row(testDescription: "the second", attempt: 2, decision: .repeatAfter(.milliseconds(400))),
        Row(testDescription: "half is left to chance", chance: 1, decision: .repeatAfter(.milliseconds(100))),
        Row(testDescription: "the origin's wish", retryAfter: .seconds(3), decision: .repeatAfter(.seconds(3))),
        Row(testDescription: "up to the longest", retryAfter: .seconds(300), decision: .repeatAfter(.seconds(10))),
        Row(testDescription: "no rule", rule: nil, decision: .giveUp(.notConfigured)),
        Row(
            testDescription: "a status that is a cause", cause: .status(503), decision: .repeatAfter(.milliseconds(200))
        ),
        Row(testDescription: "one that is none", cause: .status(500), decision: .giveUp(.notACause)),
        Row(testDescription: "a success", cause: .status(200), decision: .giveUp(.notACause)),
        Row(testDescription: "the client is gone", cause: nil, decision: .giveUp(.notACause)),
        Row(testDescription: "often enough", attempt: 3, decision: .giveUp(.attemptsUsed)),
        Row(testDescription: "a POST", method: .post, decision: .giveUp(.notIdempotent)),
        Row(testDescription: "a PUT", method: .put, decision: .repeatAfter(.milliseconds(200))),
        Row(
            testDescription: "content that is gone", method: .put, isRepeatable: false,
            decision: .giveUp(.contentNotKept)),
        Row(testDescription: "no time for the wait", left: .milliseconds(200), decision: .giveUp(.timeUsed)),
        Row(
            testDescription: "no time for the origin's wish", retryAfter: .seconds(3), left: .seconds(2),
            decision: .giveUp(.timeUsed)),
        Row(testDescription: "no budget", hasBudget: false, decision: .giveUp(.budgetUsed)),
    ]

    @Test(arguments: rows) func `B-27 repetition is decided by what became of a request`(_ row: Row) {
        let decision = RetryDecision.decide(
            row.rule, cause: row.cause, attempt: row.attempt, method: row.method, isRepeatable: row.isRepeatable,
            retryAfter: row.retryAfter, chance: row.chance, left: row.left, budget: { row.hasBudget })
        #expect(decision == row.decision)
    }

    @Test func `B-27 a budget is spent and earned again`() {
        let budget = RetryBudget()
        #expect((0..<20).filter { _ in budget.spend() }.count == 10)
        for _ in 0..<4 { budget.earn() }
        #expect(!budget.spend())
        budget.earn()
        #expect(budget.spend())
        #expect(!budget.spend())
    }
}
