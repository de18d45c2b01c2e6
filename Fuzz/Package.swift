// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A package of its own, so that everything in it is compiled for the fuzzer and nothing else is. The sources it
// tests are linked into Sources/, because `package` access ends at the border of a package. `scripts/fuzz` builds it.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .unsafeFlags(["-sanitize-coverage=edge,inline-8bit-counters,pc-table"]),
]

let package = Package(
    name: "larder-fuzz",
    targets: [
        .target(name: "LarderHTTP", swiftSettings: settings),
        .executableTarget(name: "LarderFuzz", dependencies: ["LarderHTTP"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
