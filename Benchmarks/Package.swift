// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A package of its own, so that nobody builds it who does not measure. The sources it measures are linked into
// Sources/, because `package` access ends at the border of a package.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
    name: "larder-benchmarks",
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        .target(
            name: "CLibevent",
            linkerSettings: [.linkedLibrary("event_core"), .linkedLibrary("event_extra")]),
        .target(
            name: "COpenSSL",
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(
            name: "CSQLite",
            linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(
            name: "CRE2",
            linkerSettings: [.linkedLibrary("re2")]),
        .target(name: "LarderHTTP", swiftSettings: settings),
        .target(
            name: "LarderRules",
            dependencies: [
                "LarderHTTP",
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ],
            swiftSettings: settings),
        .target(name: "LarderIO", dependencies: ["CLibevent", "COpenSSL"], swiftSettings: settings),
        .target(
            name: "LarderUpstream",
            dependencies: [
                "LarderHTTP", "LarderIO", "LarderRules",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: settings),
        .target(
            name: "Larder",
            dependencies: [
                "CRE2", "LarderHTTP", "LarderRules", "LarderIO", "LarderUpstream",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .target(
            name: "LarderStores",
            dependencies: ["Larder", "LarderHTTP", "LarderIO", "CSQLite", "COpenSSL"],
            swiftSettings: settings),
        .target(name: "CAllocations"),
        .executableTarget(
            name: "LarderBenchmarks",
            dependencies: ["CAllocations", "Larder", "LarderHTTP", "LarderRules", "LarderIO", "LarderStores"],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
