// SPDX-License-Identifier: Apache-2.0

extension Preset {
    /// The files of the folder `Files`, as `scripts/fix` lists them.
    static let files: [[UInt8]] = [
        PackageResources.anthropic_yaml,
        PackageResources.apt_yaml,
        PackageResources.conda_yaml,
        PackageResources.crates_yaml,
        PackageResources.dockerhub_yaml,
        PackageResources.github_yaml,
        PackageResources.go_yaml,
        PackageResources.huggingface_yaml,
        PackageResources.maven_yaml,
        PackageResources.npm_yaml,
        PackageResources.nuget_yaml,
        PackageResources.oci_yaml,
        PackageResources.openai_yaml,
        PackageResources.pypi_yaml,
        PackageResources.rubygems_yaml,
    ]
}
