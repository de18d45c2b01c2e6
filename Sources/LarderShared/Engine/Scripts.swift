// SPDX-License-Identifier: Apache-2.0
package import LarderStores

/// The commands that Larder sends, one function each.
extension EngineKeys {
    /// How long an index is kept, content a day longer, so that it outlives the indexes that name it.
    private static let indexLife = "604800000"
    private static let contentLife = "691200000"
    private static let scopeLife = "2592000000"

    // MARK: Reading

    /// The index, the generation and the lease of a URL.
    package func readWithLease(_ key: SharedKey) -> Command {
        Command([octets("MGET"), index(key), generation(key), lease(key)], key: index(key))
    }

    package func read(_ scope: SharedScope) -> Command {
        Command([octets("GET"), generation(scope)], key: generation(scope))
    }

    package func read(_ piece: ContentDigest) -> Command {
        Command([octets("GET"), self.piece(piece)], key: self.piece(piece))
    }

    // MARK: Writing

    /// Lets a piece live on; answers 0 when it is not there.
    package func keep(_ piece: ContentDigest) -> Command {
        let key = self.piece(piece)
        return Command([octets("PEXPIRE"), key, octets(EngineKeys.contentLife)], key: key)
    }

    package func write(_ piece: ContentDigest, _ content: [UInt8]) -> Command {
        let key = self.piece(piece)
        return Command([octets("SET"), key, content, octets("PX"), octets(EngineKeys.contentLife)], key: key)
    }

    /// Removes a piece that does not match its name: the next daemon that shares the content writes it again.
    package func remove(_ piece: ContentDigest) -> Command {
        let key = self.piece(piece)
        return Command([octets("DEL"), key], key: key)
    }

    /// Replaces the index, and answers 1, if the index and the URL's generation have not changed since they were read.
    package func write(
        _ new: SharedIndex, over old: SharedIndex, in generation: Generation?, _ key: SharedKey
    ) -> Command {
        Command(
            [
                octets("EVAL"), octets(EngineKeys.compareAndSet), octets("2"), index(key), self.generation(key),
                old.revision, generation?.octets ?? [], new.octets, octets(EngineKeys.indexLife),
            ], key: index(key))
    }

    private static let compareAndSet = """
        if (redis.call('GET',KEYS[2]) or '')~=ARGV[2] then return 0 end
        if redis.call('GETRANGE',KEYS[1],0,15)~=ARGV[1] then return 0 end
        redis.call('SET',KEYS[1],ARGV[3],'PX',ARGV[4]) return 1
        """

    /// Gives a scope its first generation, unless another daemon does.
    package func begin(_ generation: Generation, of scope: SharedScope) -> Command {
        let key = self.generation(scope)
        return Command(
            [octets("SET"), key, generation.octets, octets("NX"), octets("PX"), octets(EngineKeys.scopeLife)], key: key)
    }

    /// The same for a URL.
    package func begin(_ generation: Generation, of key: SharedKey) -> Command {
        let name = self.generation(key)
        return Command(
            [octets("SET"), name, generation.octets, octets("NX"), octets("PX"), octets(EngineKeys.contentLife)],
            key: name)
    }

    // MARK: Invalidating

    package func replace(_ generation: Generation, of scope: SharedScope) -> Command {
        let key = self.generation(scope)
        return Command([octets("SET"), key, generation.octets, octets("PX"), octets(EngineKeys.scopeLife)], key: key)
    }

    /// The generation first: if the rest is lost, the index means nothing.
    package func invalidate(_ key: SharedKey, _ generation: Generation) -> [Command] {
        let name = self.generation(key)
        return [
            Command(
                [octets("SET"), name, generation.octets, octets("PX"), octets(EngineKeys.contentLife)], key: name),
            Command([octets("DEL"), index(key)], key: index(key)),
        ]
    }

    // MARK: Leases

    package func take(_ token: LeaseToken, for milliseconds: Int, _ key: SharedKey) -> Command {
        let name = lease(key)
        return Command(
            [octets("SET"), name, token.octets, octets("NX"), octets("PX"), octets("\(milliseconds)")], key: name)
    }

    /// Removes a lease that is still the holder's own.
    package func release(_ token: LeaseToken, _ key: SharedKey) -> Command {
        Command(
            [octets("EVAL"), octets(EngineKeys.compareAndDelete), octets("1"), lease(key), token.octets],
            key: lease(key))
    }

    /// Puts a note in the place of a lease that is still the holder's own: the response was not shared.
    package func note(_ token: LeaseToken, for milliseconds: Int, _ key: SharedKey) -> Command {
        Command(
            [
                octets("EVAL"), octets(EngineKeys.compareAndNote), octets("1"), lease(key), token.octets,
                LeaseToken.note, octets("\(milliseconds)"),
            ], key: lease(key))
    }

    private static let compareAndDelete = """
        if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0
        """
    private static let compareAndNote = """
        if redis.call('GET',KEYS[1])~=ARGV[1] then return 0 end
        redis.call('SET',KEYS[1],ARGV[2],'PX',ARGV[3]) return 1
        """

    // MARK: The log

    /// Appends a message, after which the log has about `limit` of them.
    package func append(_ message: [UInt8], limit: Int = 10_000) -> Command {
        Command(
            [
                octets("XADD"), log, octets("MAXLEN"), octets("~"), octets("\(limit)"), octets("*"), octets("m"),
                message,
            ],
            key: log)
    }

    /// The message at `position`, if the log still has it.
    package func find(_ position: String) -> Command {
        Command([octets("XRANGE"), log, octets(position), octets(position)], key: log)
    }

    package var last: Command {
        Command([octets("XREVRANGE"), log, octets("+"), octets("-"), octets("COUNT"), octets("1")], key: log)
    }

    /// The next messages behind `position`; waits for one.
    package func follow(_ position: String, forMilliseconds milliseconds: Int) -> Command {
        Command(
            [
                octets("XREAD"), octets("BLOCK"), octets("\(milliseconds)"), octets("COUNT"), octets("256"),
                octets("STREAMS"), log, octets(position),
            ], key: log)
    }

    private func octets(_ text: String) -> [UInt8] { Array(text.utf8) }
}

/// The token that identifies the holder of a lease.
package struct LeaseToken: Sendable, Equatable {
    /// The value in the place of a token: other daemons need not wait.
    package static let note = Array("-".utf8)

    package let octets: [UInt8]

    package static func random() -> LeaseToken { LeaseToken(octets: .random16()) }
}
