/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CSQLITE_H
#define CSQLITE_H
#include <sqlite3.h>

/* SQLITE_TRANSIENT and SQLITE_STATIC are casts of integers to function pointers, which Swift cannot import. */

/* Binds a copy of `count` octets; an empty blob, never NULL, when there are none. */
int csqlite_bind_copy(sqlite3_stmt *statement, int index, const void *octets, sqlite3_uint64 count);

/* Binds a copy of `count` octets as UTF-8. */
int csqlite_bind_text_copy(sqlite3_stmt *statement, int index, const void *octets, sqlite3_uint64 count);

/* Binds `count` octets in place; they must stay where they are until the statement is reset. */
int csqlite_bind_in_place(sqlite3_stmt *statement, int index, const void *octets, sqlite3_uint64 count);

/* sqlite3_db_config takes variable arguments, which Swift cannot call.
   Keeps the connection from checkpointing, and from deleting the log by its name, when it is closed. */
int csqlite_leave_log_on_close(sqlite3 *connection);

/* Gives the connection `count` pieces of memory of `size` octets each, which it takes before it asks for more. To be
   called before anything else. */
int csqlite_make_room(sqlite3 *connection, int size, int count);

/* Keeps the number of pages in the log, as of the last commit of the connection, in `pages`, instead of having a
   commit write back a log that has become long. NULL ends that. */
void csqlite_count_log(sqlite3 *connection, int *pages);

/* Refuses statements that could damage the file on purpose, and schemas that call functions. */
int csqlite_defend(sqlite3 *connection);

/* For files beside the database: fallocate is a GNU extension that Swift's view of glibc does not show. Gives the room
   of a part of a file back, which reads as zeros from then on (FALLOC_FL_PUNCH_HOLE, fallocate(2)). Answers 0, or -1
   with errno. */
int csqlite_punch_hole(int fd, long long offset, long long count);
#endif
