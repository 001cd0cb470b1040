/*
 * keep/database.c - records in one file, changed as a whole or not at all
 *
 * The library reads the file through a map of memory. A page beyond the end of
 * the file would end the process: a file that is shorter than it says is made
 * longer first, and its zeros are found to be no records.
 */

#include "keep/database.h"

#include <errno.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"

static const char file_name[] = "hoopd.mdb";

struct database {
    MDB_env *env; /* NULL: it broke, and could not be opened again */
    enum keep_durability durability;
    struct stat file; /* which one it is */
    MDB_dbi records;
    size_t n_map;
    char path[LIMIT_SETTING + sizeof(file_name)];
};

/* Statuses of the library are errno's, or its own below 0. */
static enum hoop_status
library_refuse(const struct database *database, const char *what, int code)
{
    const bool is_denied = code == EACCES || code == EPERM || code == EROFS;
    const bool is_full = code == ENOSPC || code == EDQUOT || code == EFBIG ||
                         code == MDB_MAP_FULL || code == ENOMEM;
    enum hoop_status status = HOOP_E_UNAVAILABLE;

    if (is_denied)
        status = HOOP_E_DENIED;
    if (is_full)
        status = HOOP_E_EXHAUSTED;
    if (code == MDB_VERSION_MISMATCH)
        status = HOOP_E_PRECONDITION;
    if (code == MDB_INVALID || code == MDB_CORRUPTED ||
        code == MDB_PAGE_NOTFOUND || code == MDB_PANIC)
        status = HOOP_E_DATA_LOSS;
    /* What it says of a write that was cut short, too. */
    return error_raise(status, "cannot %s %s: %s%s", what, database->path,
                       mdb_strerror(code),
                       code == EIO ? ", as on a full disk" : "");
}

static uint64_t
record_digest(struct keep_bytes key, struct keep_bytes value)
{
    return digest_bytes(key.bytes, key.n_bytes) * 3 +
           digest_bytes(value.bytes, value.n_bytes);
}

/* A file that is shorter than it says; see above. */
static enum hoop_status
file_lengthen(const struct database *database)
{
    MDB_envinfo known;
    MDB_stat shape;
    struct stat file;

    int code = mdb_env_info(database->env, &known);
    if (code == 0)
        code = mdb_env_stat(database->env, &shape);
    if (code == 0 && stat(database->path, &file) != 0)
        code = errno;
    if (code != 0)
        return library_refuse(database, "open", code);

    const off_t n_wanted =
        (off_t)(known.me_last_pgno + 1) * (off_t)shape.ms_psize;

    if (file.st_size >= n_wanted)
        return HOOP_OK;
    if (truncate(database->path, n_wanted) != 0)
        return library_refuse(database, "open", errno);
    return HOOP_OK;
}

static enum hoop_status
env_open(struct database *database)
{
    const unsigned int syncing =
        database->durability == KEEP_PROCESS ? MDB_NOSYNC : 0;

    int code = mdb_env_create(&database->env);
    if (code == 0)
        code = mdb_env_set_mapsize(database->env, database->n_map);
    if (code == 0)
        code = mdb_env_open(database->env, database->path,
                            MDB_NOSUBDIR | MDB_NOLOCK | syncing,
                            S_IRUSR | S_IWUSR);
    if (code == MDB_INVALID)
        return error_raise(HOOP_E_DATA_LOSS,
                           "%s is no file of hoopd's, or is damaged: name "
                           "another folder, or move it away",
                           database->path);
    if (code != 0)
        return library_refuse(database, "open", code);
    return file_lengthen(database);
}

static enum hoop_status
records_open(struct database *database)
{
    MDB_txn *txn = NULL;

    int code = mdb_txn_begin(database->env, NULL, 0, &txn);
    if (code == 0)
        code = mdb_dbi_open(txn, NULL, 0, &database->records);
    if (code == 0)
        code = mdb_txn_commit(txn);
    else
        mdb_txn_abort(txn);
    if (code != 0)
        return library_refuse(database, "open", code);
    return HOOP_OK;
}

enum hoop_status
database_open(const char *folder,
              enum keep_durability durability,
              struct database **out_database)
{
    CLEANUP(database_close)
    struct database *database = calloc(1, sizeof(*database));

    if (!database)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a database");
    snprintf(database->path, sizeof(database->path), "%.*s/%s",
             LIMIT_SETTING - 1, folder, file_name);
    database->n_map = LIMIT_KEEP_MAP;
    database->durability = durability;

    enum hoop_status status = env_open(database);
    if (status == HOOP_OK)
        status = records_open(database);
    if (status == HOOP_OK && stat(database->path, &database->file) != 0)
        status = library_refuse(database, "open", errno);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_database = STEAL(database);
    return HOOP_OK;
}

enum hoop_status
database_settle(struct database *database)
{
    const int code = database->env ? mdb_env_sync(database->env, 1) : MDB_PANIC;

    if (code != 0)
        return library_refuse(database, "write", code);
    return HOOP_OK;
}

void
database_close(struct database *database)
{
    if (!database)
        return;
    if (database->env)
        mdb_env_close(database->env);
    free(database);
}

static enum hoop_status
record_take(const struct database *database,
            const MDB_val *key,
            const MDB_val *stored,
            struct keep_bytes *out_value)
{
    const struct keep_bytes key_bytes = {key->mv_data, key->mv_size};
    uint64_t digest = 0;

    if (stored->mv_size >= sizeof(digest)) {
        memcpy(&digest, stored->mv_data, sizeof(digest));
        *out_value =
            (struct keep_bytes){(const char *)stored->mv_data + sizeof(digest),
                                stored->mv_size - sizeof(digest)};
        if (digest == record_digest(key_bytes, *out_value))
            return HOOP_OK;
    }
    return error_raise(HOOP_E_DATA_LOSS,
                       "%s is damaged: a record is not what was written",
                       database->path);
}

static enum hoop_status
cursor_read(const struct database *database,
            MDB_cursor *cursor,
            database_fn *fn,
            void *owner)
{
    struct keep_bytes value;
    MDB_val stored;
    MDB_val key;
    int code;

    while ((code = mdb_cursor_get(cursor, &key, &stored, MDB_NEXT)) == 0) {
        enum hoop_status status = record_take(database, &key, &stored, &value);
        if (status == HOOP_OK)
            status =
                fn(owner, (struct keep_bytes){key.mv_data, key.mv_size}, value);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (code != MDB_NOTFOUND)
        return library_refuse(database, "read", code);
    return HOOP_OK;
}

enum hoop_status
database_read(struct database *database, database_fn *fn, void *owner)
{
    MDB_cursor *cursor = NULL;
    MDB_txn *txn = NULL;
    enum hoop_status status = HOOP_OK;

    int code = mdb_txn_begin(database->env, NULL, MDB_RDONLY, &txn);
    if (code == 0)
        code = mdb_cursor_open(txn, database->records, &cursor);
    if (code == 0)
        status = cursor_read(database, cursor, fn, owner);
    else
        status = library_refuse(database, "read", code);
    if (cursor)
        mdb_cursor_close(cursor);
    if (txn)
        mdb_txn_abort(txn);
    return status;
}

static int
record_put(const struct database *database,
           MDB_txn *txn,
           const struct change *change)
{
    const uint64_t digest = record_digest(change->key, change->value);
    MDB_val key = {change->key.n_bytes, (void *)(uintptr_t)change->key.bytes};
    MDB_val stored = {.mv_size = sizeof(digest) + change->value.n_bytes};

    const int code =
        mdb_put(txn, database->records, &key, &stored, MDB_RESERVE);
    if (code != 0)
        return code;
    memcpy(stored.mv_data, &digest, sizeof(digest));
    if (change->value.n_bytes)
        memcpy((char *)stored.mv_data + sizeof(digest), change->value.bytes,
               change->value.n_bytes);
    return 0;
}

/* The first that is not before prefix, again and again: where a cursor stands
 * after a deletion is the library's secret. */
static int
records_erase(const struct database *database,
              MDB_txn *txn,
              struct keep_bytes prefix)
{
    MDB_cursor *cursor = NULL;

    int code = mdb_cursor_open(txn, database->records, &cursor);
    while (code == 0) {
        MDB_val key = {prefix.n_bytes, (void *)(uintptr_t)prefix.bytes};
        MDB_val stored;

        code = mdb_cursor_get(cursor, &key, &stored, MDB_SET_RANGE);
        if (code == 0 && (key.mv_size < prefix.n_bytes ||
                          memcmp(key.mv_data, prefix.bytes, prefix.n_bytes)))
            code = MDB_NOTFOUND;
        if (code == 0)
            code = mdb_cursor_del(cursor, 0);
    }
    if (cursor)
        mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? 0 : code;
}

static int
changes_apply(const struct database *database, const struct changeset *changes)
{
    struct change change;
    MDB_txn *txn = NULL;
    size_t at = 0;

    int code = mdb_txn_begin(database->env, NULL, 0, &txn);
    if (code != 0)
        return code;
    while (code == 0 && changeset_next(changes, &at, &change)) {
        code = change.kind == CHANGE_PUT
                   ? record_put(database, txn, &change)
                   : records_erase(database, txn, change.key);
    }
    if (code == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return code;
}

/* The library trusts its memory no more when it could not write a certain page:
 * from then on it says MDB_PANIC. What the file holds is whole. */
static enum hoop_status
database_reopen(struct database *database)
{
    struct stat file;

    if (database->env)
        mdb_env_close(STEAL(database->env));
    /* Or else a new one would be made, which knows nothing. */
    if (stat(database->path, &file) != 0 ||
        file.st_dev != database->file.st_dev ||
        file.st_ino != database->file.st_ino)
        return error_raise(HOOP_E_UNAVAILABLE,
                           "cannot write %s: it is not the file that it was",
                           database->path);

    enum hoop_status status = env_open(database);
    if (status == HOOP_OK)
        status = records_open(database);
    if (status == HOOP_OK)
        return HOOP_OK;
    if (database->env)
        mdb_env_close(STEAL(database->env));
    return error_pass(status);
}

enum hoop_status
database_apply(struct database *database, const struct changeset *changes)
{
    int code = database->env ? changes_apply(database, changes) : MDB_PANIC;

    if (code == MDB_PANIC) {
        const enum hoop_status status = database_reopen(database);
        if (status != HOOP_OK)
            return error_pass(status);
        code = changes_apply(database, changes);
    }

    while (code == MDB_MAP_FULL && database->n_map < LIMIT_KEEP_MAP_MAX) {
        database->n_map *= 2;
        code = mdb_env_set_mapsize(database->env, database->n_map);
        if (code == 0)
            code = changes_apply(database, changes);
    }
    if (code != 0)
        return library_refuse(database, "write", code);
    return HOOP_OK;
}

const char *
database_path(const struct database *database)
{
    return database->path;
}
