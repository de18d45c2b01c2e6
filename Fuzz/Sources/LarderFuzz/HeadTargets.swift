// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

/// A request head means the same however it arrives, and again after it was written.
func requestHead(_ input: UnsafeRawBufferPointer) {
    var parser = RequestHeadParser()
    var head = RequestHead()
    func parse(_ bytes: UnsafeRawBufferPointer) -> Outcome<RequestHead> {
        do throws(ParseError) {
            guard case .complete(let consumed) = try parser.parse(bytes.bytes, into: &head) else { return .incomplete }
            return .complete(head, consumed: consumed)
        } catch {
            return .refused(error)
        }
    }
    let whole = parse(input)
    parser = RequestHeadParser()
    require(inPieces(input, parse) == whole, "pieces are read as the whole is")
    guard case .complete(let read, let consumed) = whole else { return }
    require(consumed <= input.count, "no more is consumed than there is")
    guard let framing = frame({ () throws(ParseError) in try BodyFraming(request: read) }) else { return }
    _ = ConnectionOptions(read.fields)
    _ = RequestExpectation(read)
    var written: [UInt8] = []
    MessageWriter.append(read, framing: framing, to: &written)
    parser = RequestHeadParser()
    guard case .complete(let again, written.count) = written.withUnsafeBytes(parse) else {
        return require(read.version == .http10, "what is written can be read")
    }
    require(again.method == read.method && again.target == read.target, "the request line survives writing")
    require(again.fields.withoutFraming == read.fields.withoutFraming, "the fields survive writing")
    require(frame { () throws(ParseError) in try BodyFraming(request: again) } == framing, "framing survives writing")
}

/// A response head means the same however it arrives, and again after it was written, but for what is this hop's.
func responseHead(_ input: UnsafeRawBufferPointer) {
    var parser = ResponseHeadParser()
    var head = ResponseHead()
    func parse(_ bytes: UnsafeRawBufferPointer) -> Outcome<ResponseHead> {
        do throws(ParseError) {
            guard case .complete(let consumed) = try parser.parse(bytes.bytes, into: &head) else { return .incomplete }
            return .complete(head, consumed: consumed)
        } catch {
            return .refused(error)
        }
    }
    let whole = parse(input)
    parser = ResponseHeadParser()
    require(inPieces(input, parse) == whole, "pieces are read as the whole is")
    guard case .complete(let read, _) = whole else { return }
    for method in [LarderHTTP.Method.get, .head, .connect] {
        guard let framing = frame({ () throws(ParseError) in try BodyFraming(response: read, to: method) }) else {
            continue
        }
        var written: [UInt8] = []
        PreparedHead.appendStatusLine(read.status, to: &written)
        PreparedHead.append(read.fields, to: &written)
        switch framing {
        case .none, .untilClose: break
        case .length(let length): PreparedHead.appendField("Content-Length", number: Int64(length), to: &written)
        case .chunked: PreparedHead.appendField("Transfer-Encoding", "chunked", to: &written)
        }
        PreparedHead.appendLineEnd(to: &written)
        parser = ResponseHeadParser()
        guard case .complete(let again, written.count) = written.withUnsafeBytes(parse) else {
            return require(false, "what is written can be read")
        }
        require(again.status == read.status, "the status survives writing")
        require(again.fields.withoutHop == read.fields.withoutHop, "the fields survive writing")
        require(
            frame { () throws(ParseError) in try BodyFraming(response: again, to: method) } == framing,
            "framing survives writing")
    }
}

enum Outcome<Head: Equatable>: Equatable {
    case complete(Head, consumed: Int)
    case incomplete
    case refused(ParseError)
}

/// Feeds a buffer that grows. Each part is a copy, so that reading past its end is seen.
private func inPieces<Head>(
    _ input: UnsafeRawBufferPointer, _ parse: (UnsafeRawBufferPointer) -> Outcome<Head>
) -> Outcome<Head> {
    for cut in cuts(input) {
        let outcome = Array(input[..<cut]).withUnsafeBytes(parse)
        if outcome != .incomplete { return outcome }
    }
    return .incomplete
}

private func frame(_ body: () throws(ParseError) -> BodyFraming) -> BodyFraming? {
    do throws(ParseError) { return try body() } catch { return nil }
}

extension Fields {
    fileprivate var withoutFraming: Fields {
        var fields = self
        fields.remove(.contentLength)
        fields.remove(.transferEncoding)
        return fields
    }

    fileprivate var withoutHop: Fields {
        var fields = withoutFraming
        for name in [.connection, .keepAlive, .proxyConnection, .trailer, .upgrade, .via] as [FieldName] {
            fields.remove(name)
        }
        return fields
    }
}
