// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// Nanoseconds of the monotonic clock: for waiting and for bounding slices of work, never for stored times.
func monotonicNow() -> Int64 { SystemTime().monotonic() }
