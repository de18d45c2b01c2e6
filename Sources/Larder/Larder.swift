// SPDX-License-Identifier: Apache-2.0

/// The message vocabulary the model speaks: `Method`, `Status`, `Fields`, `FieldName`, `TargetURI`, `Timestamp`.
@_exported public import LarderHTTP
