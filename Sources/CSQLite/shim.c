/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "CSQLite.h"

#include <fcntl.h>

int csqlite_bind_copy(sqlite3_stmt *statement, int index, const void *octets, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, count ? octets : "", count, SQLITE_TRANSIENT);
}

int csqlite_bind_text_copy(sqlite3_stmt *statement, int index, const void *octets, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, count ? octets : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

int csqlite_bind_in_place(sqlite3_stmt *statement, int index, const void *octets, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, count ? octets : "", count, SQLITE_STATIC);
}

int csqlite_leave_log_on_close(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

int csqlite_make_room(sqlite3 *connection, int size, int count) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_LOOKASIDE, (void *)0, size, count);
}

static int keep_count(void *pages, sqlite3 *connection, const char *database, int count) {
    (void)connection;
    (void)database;
    *(int *)pages = count;
    return SQLITE_OK;
}

void csqlite_count_log(sqlite3 *connection, int *pages) {
    sqlite3_wal_hook(connection, pages ? keep_count : (int (*)(void *, sqlite3 *, const char *, int))0, pages);
}

int csqlite_defend(sqlite3 *connection) {
    int code = sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    return code != SQLITE_OK ? code : sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}

int csqlite_punch_hole(int fd, long long offset, long long count) {
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, count);
}
