// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderProxy

@Suite("Attempts to log in")
struct LoginAttemptsTests {
    typealias Attempts = LoginAttempts<String, String, Int>

    private var attempts = Attempts(
        names: .init(burst: 3, interval: 10), clients: .init(burst: 5, interval: 2), lifetime: 100, limit: 16)

    private func attempt(_ credentials: Int, _ name: String = "anna", of client: String = "a") -> Attempts.Attempt {
        Attempts.Attempt(client: client, name: name, credentials: credentials)
    }

    @Test func `guesses at one name are limited for it alone`() {
        var attempts = attempts
        for number in 1...3 {
            let verdict = attempts.begin(attempt(number), at: 100)
            let isLast = attempts.wasWrong(attempt(number), isCompared: true, at: 100)
            #expect(verdict == .untested && isLast == (number == 3))
        }
        let next = attempts.begin(attempt(4), at: 100)
        #expect(next == .tooOften(10))
        // Nothing is said about a known one either.
        let known = attempts.begin(attempt(1), at: 100)
        #expect(known == .tooOften(10) && attempts.wait(of: attempt(9), at: 100) == 10)
        let others = [attempts.begin(attempt(4, "ben"), at: 100), attempts.begin(attempt(4, of: "b"), at: 100)]
        #expect(others == [.untested, .untested])
        let later = attempts.begin(attempt(4), at: 110)
        #expect(later == .untested)
    }

    @Test func `guesses that are made at once count before their outcome`() {
        var attempts = attempts
        let verdicts = (1...5).map { attempts.begin(attempt($0), at: 100) }
        #expect(verdicts == [.untested, .untested, .untested, .tooOften(10), .tooOften(10)])
    }

    @Test func `an old password counts once, for a while`() {
        var attempts = attempts
        _ = attempts.begin(attempt(1), at: 100)
        _ = attempts.wasWrong(attempt(1), isCompared: true, at: 100)
        for time in 100..<200 {
            let verdict = attempts.begin(attempt(1), at: Int64(time))
            #expect(verdict == .knownWrong)
        }
        let right = attempts.begin(attempt(2), at: 101)
        let again = attempts.begin(attempt(1), at: 200)
        #expect(right == .untested && again == .untested)
    }

    @Test func `what is right does not count, nor what is sent again`() {
        var attempts = attempts
        for time in 0..<20 {
            for _ in 0..<5 {
                let verdict = attempts.begin(attempt(1), at: Int64(time))
                #expect(verdict == .untested)
            }
            attempts.wasRight(attempt(1), at: Int64(time))
        }
        #expect(attempts.wait(of: attempt(1), at: 20) == nil)
        // It had not counted for the second who waited for it.
        for number in 2...4 { _ = attempts.begin(attempt(number), at: 20) }
        attempts.wasRight(attempt(1), at: 20)
        #expect(attempts.wait(of: attempt(1), at: 20) != nil)
    }

    @Test func `a list of names is limited by the client, and remembered users are not asked about it`() {
        var attempts = attempts
        for number in 1...5 {
            #expect(attempts.delay(of: "a", at: 100) == nil)
            _ = attempts.begin(attempt(1, "\(number)"), at: 100)
            _ = attempts.wasWrong(attempt(1, "\(number)"), isCompared: true, at: 100)
        }
        #expect(attempts.delay(of: "a", at: 100) == 2 && attempts.delay(of: "b", at: 100) == nil)
        // While nothing is compared, guesses at a name count as well.
        let verdicts = (1...4).map { attempts.begin(attempt($0), at: 100) }
        #expect(verdicts == [.untested, .untested, .untested, .tooOften(10)])
    }

    @Test func `whoever waited for another's comparison caused none`() {
        var attempts = attempts
        for number in 1...10 {
            _ = attempts.begin(attempt(1, "\(number)"), at: 100)
            _ = attempts.wasWrong(attempt(1, "\(number)"), isCompared: false, at: 100)
        }
        #expect(attempts.delay(of: "a", at: 100) == nil)
    }

    @Test func `its tables are bounded`() {
        var attempts = attempts
        for number in 0..<1_000 {
            let attempt = attempt(number, "\(number)", of: "\(number)")
            _ = attempts.begin(attempt, at: Int64(number))
            if number % 2 == 0 { _ = attempts.wasWrong(attempt, isCompared: true, at: Int64(number)) }
        }
        #expect(attempts.largestCount <= 16)
    }
}
