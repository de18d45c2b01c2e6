// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

/// What every Swift target is compiled with. `NonisolatedNonsendingByDefault` keeps an async call on the
/// caller's loop; without it each call costs a hop (docs/performance.md).
let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// What tests of a whole daemon and scripted peers are built with.
let scenarios: [Target.Dependency] = [
    "LarderAdmin", "LarderProxy", "LarderSettings", "LarderStores", "LarderUpstream", "Larder", "LarderHTTP",
    "LarderRules", "LarderIO", "LarderCodings", "LarderTransformers", "LarderTesting", "LarderScenarios",
    .product(name: "Logging", package: "swift-log"),
]

/// The names and versions of the packages Larder depends on; docs/dependencies.md says why each is there.
let package = Package(
    name: "larder",
    products: [
        .executable(name: "larder", targets: ["LarderProgram"]),
        .library(name: "Larder", targets: ["Larder"]),
        .library(name: "LarderStores", targets: ["LarderStores"]),
        .library(name: "LarderTesting", targets: ["LarderTesting"]),
        .library(name: "LarderDaemon", targets: ["LarderDaemon"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
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
            name: "CZlib",
            linkerSettings: [.linkedLibrary("z")]),
        .target(
            name: "CBrotli",
            linkerSettings: [.linkedLibrary("brotlidec"), .linkedLibrary("brotlienc")]),
        .target(
            name: "CZstd",
            linkerSettings: [.linkedLibrary("zstd")]),
        .target(
            name: "CYAML",
            linkerSettings: [.linkedLibrary("yaml")]),
        .target(
            name: "CRE2",
            linkerSettings: [.linkedLibrary("re2")]),
        .target(
            name: "CJq",
            linkerSettings: [.linkedLibrary("jq")]),
        .target(
            name: "CHiredis",
            linkerSettings: [.linkedLibrary("hiredis")]),
        .target(
            name: "CCrypt",
            linkerSettings: [.linkedLibrary("crypt")]),

        .target(name: "CAllocation"),
        .target(
            name: "CBuild",
            cSettings: [.define("LARDER_COMMIT", to: Context.environment["LARDER_COMMIT"] ?? "")]),

        .target(name: "LarderHTTP", swiftSettings: swiftSettings),
        .target(
            name: "LarderCodings",
            dependencies: ["CZlib", "CBrotli", "CZstd"],
            swiftSettings: swiftSettings),
        .target(
            name: "LarderRules",
            dependencies: [
                "LarderHTTP",
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ],
            swiftSettings: swiftSettings),
        .target(
            name: "LarderIO",
            dependencies: [
                "CLibevent", "COpenSSL",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: swiftSettings),
        .target(
            name: "Larder",
            dependencies: [
                "CRE2", "LarderHTTP", "LarderRules", "LarderIO", "LarderUpstream",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings),
        .target(
            name: "LarderTransformers",
            dependencies: ["Larder", "LarderHTTP", "LarderIO", "LarderCodings", "CJq"],
            swiftSettings: swiftSettings),
        .target(
            name: "LarderUpstream",
            dependencies: [
                "LarderHTTP", "LarderIO", "LarderRules",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: swiftSettings),
        .target(
            name: "LarderStores",
            dependencies: [
                "Larder", "LarderHTTP", "LarderIO", "CSQLite", "COpenSSL",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: swiftSettings),
        .target(
            name: "LarderShared",
            dependencies: [
                "LarderHTTP", "LarderIO", "LarderStores", "CHiredis", "COpenSSL",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: swiftSettings),
        .target(
            name: "LarderSettings",
            dependencies: [
                "CBuild", "Larder", "LarderHTTP", "LarderRules", "LarderIO", "LarderCodings", "LarderShared",
                "LarderTransformers", "LarderUpstream",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings),
        .target(
            name: "LarderProxy",
            dependencies: [
                "Larder", "LarderHTTP", "LarderRules", "LarderIO", "LarderCodings", "LarderSettings", "LarderStores",
                "LarderTransformers", "LarderUpstream",
                "CCrypt",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings),
        .target(
            name: "LarderSharing",
            dependencies: [
                "Larder", "LarderHTTP", "LarderRules", "LarderIO", "LarderSettings", "LarderShared", "LarderStores",
                "LarderProxy",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings),
        .target(
            name: "LarderDashboard",
            resources: [
                .embedInCode("Page/dashboard.html"), .embedInCode("Page/dashboard.css"), .embedInCode("Page/icon.svg"),
                .embedInCode("Page/words.js"), .embedInCode("Page/charts.js"), .embedInCode("Page/explain.js"),
                .embedInCode("Page/dashboard.js"),
            ],
            swiftSettings: swiftSettings),
        .target(
            name: "LarderAdmin",
            dependencies: [
                "LarderDashboard", "LarderCodings", "Larder", "LarderHTTP", "LarderRules", "LarderIO", "LarderStores",
                "LarderUpstream", "LarderSettings", "LarderProxy", "LarderSharing",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings),
        .target(
            name: "LarderCLI",
            dependencies: [
                "CYAML", "Larder", "LarderHTTP", "LarderIO", "LarderRules", "LarderStores", "LarderUpstream",
                "LarderSettings", "LarderProxy", "LarderAdmin", "LarderTransformers",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            resources: [.embedInCode("Presets/Files")],
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "LarderProgram", dependencies: ["CAllocation", "LarderCLI", "LarderTransformers"],
            swiftSettings: swiftSettings),
        .target(
            name: "LarderDaemon",
            dependencies: ["Larder", "LarderSettings", "LarderProxy", "LarderCLI", "LarderTransformers"],
            swiftSettings: swiftSettings),

        .target(name: "LarderTesting", dependencies: ["Larder", "LarderIO"], swiftSettings: swiftSettings),
        .target(
            name: "LarderPeers", dependencies: ["LarderIO", "COpenSSL"], path: "Tests/Support/LarderPeers",
            swiftSettings: swiftSettings),
        .target(
            name: "LarderScenarios",
            dependencies: [
                "LarderTesting", "LarderPeers", "LarderAdmin", "LarderProxy", "LarderSettings", "LarderStores",
                "LarderUpstream", "Larder",
                "LarderHTTP", "LarderRules", "LarderIO",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Support/LarderScenarios",
            swiftSettings: swiftSettings),
        .testTarget(name: "LarderHTTPTests", dependencies: ["LarderHTTP"], swiftSettings: swiftSettings),
        .testTarget(name: "LarderCodingsTests", dependencies: ["LarderCodings"], swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderRulesTests",
            dependencies: [
                "LarderRules", "LarderHTTP",
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderIOTests", dependencies: ["LarderIO", "LarderTesting", "LarderPeers"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderTests",
            dependencies: [
                "Larder", "LarderUpstream", "LarderHTTP", "LarderRules", "LarderIO", "LarderTesting", "LarderPeers",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderTransformersTests",
            dependencies: [
                "LarderTransformers", "LarderCodings", "LarderCLI", "LarderProxy", "LarderSettings", "Larder",
                "LarderHTTP", "LarderIO", "LarderTesting", "LarderScenarios",
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderStoresTests",
            dependencies: [
                "LarderStores", "Larder", "LarderHTTP", "LarderIO", "CSQLite", "LarderTesting", "LarderPeers",
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderSharedTests",
            dependencies: [
                "LarderShared", "LarderSharing", "LarderProxy", "LarderSettings", "LarderAdmin", "LarderStores",
                "LarderHTTP",
                "LarderRules", "LarderIO",
                "LarderTesting", "LarderPeers", "LarderScenarios",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderUpstreamTests",
            dependencies: ["LarderUpstream", "LarderHTTP", "LarderIO", "LarderRules", "LarderTesting", "LarderPeers"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderSettingsTests",
            dependencies: ["LarderSettings", "Larder", "LarderUpstream", "LarderHTTP", "LarderIO"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderProxyTests",
            dependencies: [
                "LarderProxy", "LarderSettings", "LarderUpstream", "Larder", "LarderHTTP", "LarderRules", "LarderIO",
                "LarderCodings", "LarderTransformers", "LarderTesting", "LarderScenarios",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderAdminTests",
            dependencies: [
                "LarderDashboard", "LarderAdmin", "LarderProxy", "LarderSettings", "LarderStores", "LarderUpstream",
                "Larder", "LarderHTTP", "LarderRules", "LarderIO", "LarderTransformers", "LarderTesting",
                "LarderScenarios",
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["Golden"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderGrowthTests",
            dependencies: [
                "LarderAdmin", "LarderCodings", "LarderProxy", "LarderSettings", "LarderShared", "Larder", "LarderHTTP",
                "LarderRules", "LarderIO", "LarderTesting",
            ],
            swiftSettings: swiftSettings),
        .testTarget(name: "LarderCachingTests", dependencies: scenarios, swiftSettings: swiftSettings),
        .testTarget(name: "LarderClientTests", dependencies: scenarios, swiftSettings: swiftSettings),
        .testTarget(name: "LarderServiceTests", dependencies: scenarios, swiftSettings: swiftSettings),
        .testTarget(
            name: "LarderCLITests",
            dependencies: [
                "LarderCLI", "LarderProxy", "LarderSettings", "LarderTransformers", "LarderUpstream", "Larder",
                "LarderHTTP", "LarderTesting", "LarderScenarios",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: swiftSettings),
    ],
    swiftLanguageModes: [.v6]
)

// What requests go through lies side by side in an optimized program, in the order of packaging/hot-functions: a forwarded
// response takes a sixth less of the processor's time (docs/performance.md). Nobody could depend on a version of a package
// with such flags, so they are not there where this one was fetched.
if !Context.packageDirectory.contains("/checkouts/") {
    for target in package.targets where target.type != .test {
        target.swiftSettings?.append(
            .unsafeFlags(["-Xfrontend", "-function-sections"], .when(configuration: .release)))
    }
    let order = "\(Context.packageDirectory)/packaging/hot-functions.txt"
    package.targets.first { $0.name == "LarderProgram" }?.linkerSettings = [
        .unsafeFlags(
            ["-use-ld=lld", "-Xlinker", "--symbol-ordering-file=\(order)", "-Xlinker", "--no-warn-symbol-ordering"],
            .when(configuration: .release))
    ]
}

// A smaller program, when `scripts/package` builds one: modules that no request of a client goes through are optimized
// for size. Nobody could depend on a package with such flags, so they are not there otherwise.
if Context.environment["LARDER_SMALL"] != nil {
    let small = ["LarderAdmin", "LarderCLI", "LarderDashboard", "LarderSettings"]
    for target in package.targets where small.contains(target.name) {
        target.swiftSettings?.append(.unsafeFlags(["-Osize"]))
    }
}

// Some of the tests and what they are about, when `scripts/test --only` names them: otherwise all tests of the package
// are built for each, and linked into one program.
if let named = Context.environment["LARDER_TESTS"] {
    var needed = Set(named.split(separator: " ").map(String.init))
    var found = needed
    while !found.isEmpty {
        let dependencies = package.targets.filter { found.contains($0.name) }.flatMap(\.dependencies)
        found = Set(
            dependencies.compactMap { dependency -> String? in
                guard case .byNameItem(let name, _) = dependency else { return nil }
                return name
            }
        ).subtracting(needed)
        needed.formUnion(found)
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll()
}

// The programs of Examples and of the documentation, when `Conformance/clients/cases/examples.py` has them built: beside
// the rest and on what is compiled already, but seeing no more than users do. A line for each target: its kind, its
// name, its folder, and what it depends on.
for line in (Context.environment["LARDER_DOCUMENTED"] ?? "").split(separator: "\n") {
    let words = line.split(separator: " ").map(String.init)
    let dependencies = words.dropFirst(3).map { Target.Dependency(stringLiteral: $0) }
    switch words[0] {
    case "executable":
        package.targets.append(
            .executableTarget(name: words[1], dependencies: dependencies, path: words[2], packageAccess: false))
    case "test":
        package.targets.append(
            .testTarget(name: words[1], dependencies: dependencies, path: words[2], packageAccess: false))
    default:
        package.targets.append(
            .target(name: words[1], dependencies: dependencies, path: words[2], packageAccess: false))
    }
}
