// SPDX-License-Identifier: Apache-2.0

/// For all files of these tests.
@_exported import LarderScenarios
