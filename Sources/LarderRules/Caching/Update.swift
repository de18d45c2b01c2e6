// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The fields of a response that says something new about a stored one: a 304, a 206, or one to HEAD.
struct Update {
    /// As far as what is stored takes them: a cookie is for one client, and the content was not made with it.
    let fields: Fields
    /// True if they may be their client's alone, whoever the stored response is for: its request has credentials, or it
    /// gets a cookie, and the origin does not say that others may use the response without asking.
    let isForOne: Bool
    private let isSilent: Bool
    private let policy: CachePolicy

    /// - Parameter received: with the cookies that are set.
    init(_ received: Fields, to request: RequestHead, at now: Timestamp, policy: CachePolicy) {
        let fields = policy.update(of: received)
        self.fields = fields
        self.policy = policy
        guard
            policy.personalField(of: request.fields) != nil
                || received.contains(.setCookie) && policy.isPersonal(.cookie)
        else {
            isForOne = false
            isSilent = false
            return
        }
        let directives = policy.directives(of: fields, isPersonal: true)
        let date = fields.date(.date, now: now)
        let explicit = Freshness.explicit(fields, directives, date: date, responseTime: now, policy: policy)
        let age = Age.correctedInitialAge(
            ageValue: Age.ageValue(fields), dateValue: date ?? now, requestTime: now, responseTime: now)
        isForOne = policy.mustBeAskedFor(directives, explicit, age: age)
        isSilent = explicit == nil
    }

    /// Those that an update is for.
    enum Audience: Equatable {
        case all
        /// Its client alone.
        case client
        /// The same, but for these.
        case clientBut(Fields)
    }

    /// An update for one that says nothing new about whether others may use it still confirms what is stored.
    func audience(beside stored: StoredResponse) -> Audience {
        guard isForOne else { return .all }
        var new: Set<FieldName> = []
        fields.forEachLine { name, spelling, value in
            let name = name ?? FieldName(token: spelling)
            guard !Update.ofARepresentation.contains(name) else { return }
            if !stored.fields[all: name].contains(String(latin1: value)) { new.insert(name) }
        }
        var shared = fields
        shared.removeAll { name, spelling, _ in new.contains(name ?? FieldName(token: spelling)) }
        guard isSilent, ([.cacheControl] + policy.targets).allSatisfy({ fields[$0] == shared[$0] }) else {
            return .client
        }
        return shared == fields ? .all : .clientBut(shared)
    }

    /// The fields of RFC 9110 §15.4.5, and others that say nothing of a client.
    private static let ofARepresentation: Set<FieldName> = [
        .date, .age, .eTag, .lastModified, .vary, .via, .connection, .keepAlive, "Server",
        .contentLength, .contentType, .contentEncoding, .contentRange,
    ]
}

extension CachePolicy {
    /// The fields of an update that what is stored takes.
    package func update(of response: Fields) -> Fields {
        guard role == .shared, response.contains(.setCookie) else { return response }
        var fields = response
        fields.remove(.setCookie)
        return fields
    }
}
