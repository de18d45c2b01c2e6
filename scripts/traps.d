# SPDX-License-Identifier: Apache-2.0
#
# The sources that read octets from outside: of a peer, or of the disk. Each with how many places it has that could trap
# by their values (arithmetic, conversions between kinds of numbers, indexes), and why no outside number makes them.
# scripts/traps complains when there are more; after a look, scripts/traps --accept FILE writes the new numbers.
#
# file arithmetic conversions indexes reason
LarderHTTP/ContentChunk.swift 19 6 7 lengths and offsets are those of chunks in memory, compared with their counts before they are used
LarderHTTP/Fields/CivilDate.swift 44 2 0 years have four digits where they are read, and are those of a Timestamp (1677 to 2262) elsewhere
LarderHTTP/Fields/DateReader.swift 16 3 1 each step compares the position with the count first; numbers have as many digits as are asked for, at most 4
LarderHTTP/Fields/Fields.swift 13 5 15 positions are those of lines it has itself, of heads that are bounded in 32 bits
LarderHTTP/Fields/HTTPDate.swift 11 3 1 what is read has four digits for a year; what is written is within 1677 to 2262
LarderHTTP/Fields/ISOTime.swift 4 1 0 what is read has four digits for a year, two for the rest, and must fit a Timestamp; what is written is within 1677 to 2262
LarderHTTP/Fields/ListGrammar.swift 1 0 3 positions stay below the count, which each loop compares first
LarderHTTP/Fields/Parameters.swift 9 0 8 positions stay below the count, which each loop compares first
LarderHTTP/Fields/QuotedString.swift 8 0 5 positions stay below the count, which each loop compares first
LarderHTTP/HTTP1/BodyFraming.swift 3 2 0 lengths report overflow, and are at most Int.max
LarderHTTP/HTTP1/ChunkExtensionReader.swift 0 0 0 reads an octet at a time
LarderHTTP/HTTP1/ChunkedDecoder.swift 9 5 3 a size has at most 16 digits and is refused above Int.max; counts are the smaller of it and what is there
LarderHTTP/HTTP1/FramingDecoder.swift 1 4 1 counts are the smaller of what is announced and what is there
LarderHTTP/HTTP1/FieldSectionParser.swift 0 0 3 positions come from LineReader, which stays within the octets there are
LarderHTTP/HTTP1/HostCheck.swift 2 2 5 positions are found in the value
LarderHTTP/HTTP1/LineReader.swift 0 0 2 positions stay below the bound and the count, and wrap with & where they are added to
LarderHTTP/HTTP1/MessageParser.swift 1 0 1 positions come from LineReader
LarderHTTP/HTTP1/StartLine.swift 0 1 3 a version is read where eight octets are; a status has three digits
LarderHTTP/HTTP1/TrailerReader.swift 2 0 3 the bound on the trailer section is never below what is known of it
LarderHTTP/Messages/EntityTag.swift 7 0 15 positions stay below the count, which each loop compares first
LarderHTTP/Messages/MediaType.swift 2 0 3 positions are found in the value
LarderHTTP/Messages/RequestTarget.swift 1 0 3 positions are found in the target
LarderHTTP/Messages/TargetURI+Normalisation.swift 33 10 25 lengths are at most lengthLimit, which fits 32 bits three times over; positions are compared with the count first
LarderHTTP/Messages/TargetURI+Spelling.swift 28 0 16 positions stay below the counts, which are compared first
LarderHTTP/Messages/TargetURI.swift 1 13 3 positions are those of its own parts
LarderHTTP/Messages/URIHost.swift 38 5 23 a part of an address has at most three digits, a group four, a port five; positions stay below the count
LarderRules/Fields/BoundedParsing.swift 4 0 1 the position stays below the count
LarderRules/Fields/CacheControl.swift 11 0 0 counts of names in one head
LarderRules/Content/CanonicalJSON.swift 12 0 0 counts of what it has written itself; depth is bounded
LarderRules/Fields/ContentRange.swift 5 1 8 numbers saturate, and the last octet is below Int64.max
LarderRules/Fields/DeltaSeconds.swift 0 1 0 numbers saturate at 2^31
LarderRules/Fields/DirectiveScanner.swift 0 0 18 positions stay below the count and wrap with &
LarderRules/Caching/Freshness.swift 4 1 0 durations are clamped to what RFC 9111 knows before they become nanoseconds
LarderRules/Content/GraphQLDocument.swift 14 0 13 positions stay below the count, which each loop compares first
LarderRules/Caching/MultipartPlan.swift 5 2 0 ranges are apart and inside a representation, and at most a few
LarderRules/Caching/PartialContent+Filling.swift 10 0 4 ranges end below Int64.max, and parts are apart, so that all together are no longer
LarderRules/Caching/PartialContent.swift 3 0 0 ranges end below Int64.max, and parts are apart, so that all together are no longer
LarderRules/Fields/RangeSpecifier.swift 5 0 4 numbers saturate, and are compared with the length first
LarderRules/Caching/Ranges.swift 4 1 4 ranges are inside the representation and apart once they are joined
LarderRules/Fields/RateLimit.swift 1 0 1 numbers saturate at 2^31
LarderRules/Fields/Variance+Normalisation.swift 5 1 5 a weight has at most three decimals
LarderIO/Names/HostsFile.swift 2 0 2 what is read is bounded; positions are those of the buffer
LarderIO/Names/Lookup.swift 4 2 1 at most 64 records of those that libevent counted
LarderIO/Sockets/SocketAddress+System.swift 2 2 1 lengths are compared with those of the structures first
LarderIO/Sockets/SocketAddress+Text.swift 2 2 6 texts are at most 62 octets, and the system reads the numbers
LarderIO/TLS/TLSServerContext.swift 6 7 3 the end of a name is compared with the count of the list
LarderUpstream/KeepAlive.swift 4 1 0 at most six digits
LarderUpstream/ReceiveBuffer.swift 3 0 3 counts are those of what was received
LarderUpstream/UpstreamResponse.swift 2 2 1 a length was checked to be at most Int.max when the framing was read
LarderUpstream/UpstreamResponse.swift 3 3 1 a length was checked to be at most Int.max when the framing was read
LarderShared/Cluster/SlotMap.swift 4 2 5 slots are compared with 16,384 when they are read; elements of an array are counted first
LarderShared/Entity/LogMessage.swift 2 0 0 the sum is of lengths in memory
LarderShared/Entity/SharedContent.swift 9 6 2 an index is that of a piece that was read, whose number fits the length
LarderShared/Entity/SharedEntity.swift 8 3 0 a length is positive before it is divided; the rest are lengths in memory
LarderShared/Entity/SharedIndex.swift 4 0 0 the sum is of lengths in memory
LarderShared/Protocol/HashSlot.swift 4 4 5 the checksum has 16 bits, and the table an entry for each octet
LarderShared/Protocol/Reply.swift 0 2 4 words are counted first; numbers that do not fit give nil
LarderShared/Protocol/ReplyReader.swift 7 2 0 a reply is smaller than its limits, which are compared before each part
LarderShared/Tier/SharedLog.swift 1 1 8 elements of an array are counted first
LarderShared/Tier/SharedLook.swift 0 0 3 elements of an array are counted first
LarderStores/Entities/BlockDigests.swift 8 2 1 the number of blocks is that of the digests there are, and the length must fit it
LarderStores/Content/ContentFiles.swift 3 1 1 counts of files
LarderStores/Content/Directory.swift 1 2 0 a length is that of what was read
LarderStores/Content/SpoolFile.swift 8 2 1 offsets are those of what was written, or of blocks of a file whose length is right
LarderStores/Content/StoreDirectory.swift 1 3 2 a header of 72 octets that were read; a version that does not fit counts as 0
LarderStores/Core/StoredContent.swift 8 12 2 content is opened only if the file has the length of its row, so lengths are those of files
LarderStores/Entities/EntityKey.swift 4 0 4 lengths of texts in memory
LarderStores/OctetCoding.swift 11 7 1 what is taken is compared with what is left; numbers are put together by shifts of as many octets as they have
LarderStores/SQLite/Connection.swift 1 8 0 counts of SQLite, which are those of what it gives
LarderStores/SQLite/EntityDatabase+Eviction.swift 7 1 0 rows are within StoredNumber.rows, which is seen to at the start (impossibleRows)
LarderStores/SQLite/EntityDatabase.swift 9 1 0 row numbers and users are within StoredNumber, and octets of files saturate
LarderStores/SQLite/EntityReader.swift 5 3 1 what a row says is guarded by its seal before it is used; in lists lengths are clamped
LarderStores/SQLite/RowChecksum.swift 0 2 0 counts of octets in memory
LarderStores/SQLite/EvictionCursor.swift 2 2 0 hands are within the numbers of rows when they are read
LarderStores/SQLite/Migrations.swift 1 1 0 the version is within those that are known
LarderStores/SQLiteStorage.swift 3 5 4 lengths are those of files and octets that were read
LarderStores/Core/StoreCore.swift 11 0 0 octets on disk saturate
LarderStores/Writing/EntityWriter.swift 10 14 1 lengths of chunks that came, at most longestContent together
LarderStores/Writing/StoreWriter+Room.swift 13 0 0 octets of files saturate; pages are counted by SQLite in 32 bits
LarderProxy/Collapsing/RangeFill.swift 3 1 0 nothing is added to a position that an origin named
LarderHTTP/Messages/PercentText.swift 10 0 5 two octets are there before they are read
LarderProxy/Storing/RenditionCoding.swift 2 1 6 octets are taken after their count was compared
LarderProxy/Storing/StoredResponseCoding.swift 3 1 0 ranges are in order and apart, and end below Int64.max, before they are added up
LarderCodings/BrotliCoding.swift 4 1 0 counts of the library, within the room it was given
LarderCodings/ContentDecoder.swift 7 0 3 what comes out is bounded by the limit
LarderCodings/ZlibCoding.swift 2 5 0 input is given at most 2^32 octets at a time
LarderCodings/ZstdCoding.swift 0 0 0 counts of the library, within the room it was given
LarderTransformers/JQFrame.swift 5 1 4 a length that does not fit is none, and is compared, not added
LarderTransformers/JQInterpreter.swift 1 3 0 input is refused from 2^31 octets on
LarderTransformers/JSONPointer.swift 2 1 4 an index is compared with the count
Larder/Entity/ImageInfo.swift 17 4 6 offsets are compared with the count before the octets behind them are read; numbers have at most 4 octets
LarderHTTP/JSON/JSONScanner.swift 17 1 13 positions stay below the count, which each step compares first; depth is bounded, an escape has four digits
Larder/Memory/ContentWindow.swift 18 5 6 lengths of chunks in memory, found by halving
Larder/URLs/DomainName.swift 23 3 0 labels are short; the one product reports overflow
