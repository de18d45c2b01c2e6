// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules

/// `/-/recordings`: the recordings of commands; exports them without secrets, imports and removes them.
extension AdminCall {
    func recordings() async throws -> OwnResponse {
        OwnResponse(json: ["recordings": .strings(try await walkers.run { try proxy.recordings.names() })])
    }

    func recording() async throws -> OwnResponse {
        let name = try recordingName()
        guard let recording = try await walkers.run({ try proxy.recordings.recording(name) }) else {
            throw Problem.noRecording(name)
        }
        var response = OwnResponse(
            type: "application/json", [],
            fields: ["Content-Disposition": "attachment; filename=\"\(name).har\""])
        response.source = RecordingExport(recording, walkers: walkers) { proxy.isDraining }
        return response
    }

    func removeRecording() async throws -> OwnResponse {
        let name = try recordingName()
        guard try await walkers.run({ try proxy.recordings.remove(name) }) else { throw Problem.noRecording(name) }
        return OwnResponse(json: ["removed": .string(name)])
    }

    private func recordingName() throws(Problem) -> String {
        guard Recording.isName(name) else { throw .nothingThere(request.path) }
        return name
    }

    func importRecording() async throws -> OwnResponse {
        let name = try recordingName()
        do {
            let recording = try await walkers.run { () throws -> Recording in
                let recording = try HTTPArchive.recording(name, from: request.content, takesAll: true)
                try proxy.recordings.save(recording)
                return recording
            }
            return OwnResponse(json: ["name": .string(name), "requests": .integer(recording.count)])
        } catch let refusal as HTTPArchive.Refusal {
            throw Problem.badArchive(refusal.description)
        }
    }
}

extension Problem {
    static func noRecording(_ name: String) -> Problem {
        Problem(
            status: 404, title: "No such recording", proxyError: .httpRequestError,
            detail: "Nothing was recorded under the name ‘\(name.prefix(80))’.",
            advice: "`larder lane list` shows the recordings that there are.")
    }

    /// The problem for an error of saving a recording; nil for other errors.
    static func notSaved(_ error: any Error) -> Problem? {
        switch error {
        case let unsaved as RecordingTable.Unsaved:
            Problem(
                status: 507, title: "Not saved", proxyError: .proxyInternalError,
                detail: "The recording ‘\(unsaved.name)’ could not be written, and is in memory until Larder ends: "
                    + "\(unsaved.reason).",
                advice: "Keep it with `larder lane export \(unsaved.name)`, or make room and import that again.")
        case is RecordingTable.Full:
            Problem(
                status: 507, title: "Not saved", proxyError: .proxyInternalError,
                detail: "The recording was dropped: \(error).",
                advice: "Remove others with `larder lane remove NAME`, and record it again.")
        default: nil
        }
    }

    static func badArchive(_ detail: String) -> Problem {
        Problem(
            status: 422, title: "Not an archive", proxyError: .httpRequestError,
            detail: "The content sent is no HTTP Archive: \(detail).",
            advice: "Send the content of a .har file, version 1.2.")
    }
}
