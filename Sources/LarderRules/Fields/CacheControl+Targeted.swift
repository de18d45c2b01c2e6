// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import RawStructuredFieldValues

extension CacheControl.Response {
    /// Reads a targeted field (RFC 9213 §2.1); nil when it is empty or no Dictionary, and thus to be ignored.
    ///
    /// Members have the types the directives imply: `max-age` is an Integer, and a String in its place is as useless as
    /// letters are in `Cache-Control`. Parameters are ignored. With more members than the limit the field counts as
    /// `no-store`, the safe reading.
    init?(targeted name: FieldName, in fields: Fields) {
        guard let value = fields[name] else { return nil }
        guard var parser = BoundedParsing.parser(value, isDictionary: true) else {
            // Its meaning is unknown, so the safe reading counts.
            self.init()
            source = name
            flags.insert(.noStore)
            return
        }
        guard let dictionary = try? parser.parseDictionaryFieldValue(), dictionary.count > 0 else { return nil }
        self.init()
        source = name
        for (key, member) in dictionary {
            if case .item(let item) = member, item.rfc9651BareItem == RFC9651BareItem.bool(false) { continue }
            take(key, member)
        }
    }

    private mutating func take(_ key: String, _ member: ItemOrInnerList) {
        switch key {
        case "no-store": flags.insert(.noStore)
        case "no-cache": restrict(\.noCacheFields, .noCache, to: member)
        case "private": restrict(\.privateFields, .isPrivate, to: member)
        case "public": flags.insert(.isPublic)
        case "must-revalidate": flags.insert(.mustRevalidate)
        case "proxy-revalidate": flags.insert(.proxyRevalidate)
        case "must-understand": flags.insert(.mustUnderstand)
        case "no-transform": flags.insert(.noTransform)
        case "immutable": flags.insert(.immutable)
        case "max-age": maxAge = DeltaSeconds(member)
        case "s-maxage": sMaxage = DeltaSeconds(member)
        case "stale-while-revalidate": staleWhileRevalidate = DeltaSeconds(member)
        case "stale-if-error": staleIfError = DeltaSeconds(member)
        default: break
        }
    }

    private mutating func restrict(
        _ list: WritableKeyPath<CacheControl.Response, [FieldName]>, _ flag: Flags, to member: ItemOrInnerList
    ) {
        guard case .item(let item) = member, case .string(let text) = item.rfc9651BareItem,
            let names = Array(text.utf8).withUnsafeBytes({ CacheControl.fieldNames($0) })
        else {
            flags.insert(flag)
            return
        }
        add(names, to: list, flag)
    }
}

extension DeltaSeconds {
    fileprivate init(_ member: ItemOrInnerList) {
        guard case .item(let item) = member, case .integer(let value) = item.rfc9651BareItem, value >= 0 else {
            self = .invalid
            return
        }
        self = .seconds(min(value, DeltaSeconds.infinity))
    }
}
