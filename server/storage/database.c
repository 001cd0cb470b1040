/*
 * storage/database.c - records in one file, with atomic changes
 *
 * LMDB reads the file through a memory mapping. Access to a page beyond the end
 * of the file would kill the process, so a file that is shorter than it says is
 * first extended; the added zeros are then found to be no records.
 */

#include "storage/database.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/private_file.h"
#include "storage/changeset.h"
#include "storage/isolation.h"
#include "storage/pages.h"

static const char database_file_name[] = "hoopd.mdb";
static const char repaired_file_name[] = "hoopd.mdb.repaired";

struct database {
    MDB_env *env; /* NULL: it failed and could not be opened again */
    enum storage_durability durability;
    struct stat file; /* identifies the file */
    MDB_dbi records;
    struct commit_record
        commit_record; /* the last commit that this process made or found */
    size_t n_map;
    char path[LIMIT_SETTING + sizeof(repaired_file_name)];
};

/* The file that this thread is accessing now; NULL: none. */
static _Thread_local const char *volatile database_path_in_use;

const char *
database_path_used_by_thread(void)
{
    return database_path_in_use;
}

/* LMDB has found its file damaged and is about to abort the process. */
static void
on_lmdb_assertion(MDB_env *env, const char *text)
{
    (void)env;
    log_error("keep",
              "%s was damaged while it was in use (%s): the next start will "
              "check it; --data-repair keeps what can be read",
              database_path_in_use ? database_path_in_use : database_file_name,
              text);
}

/* LMDB's codes are errno values, or its own below 0. */
static enum hoop_status
lmdb_error_raise(const struct database *database, const char *what, int code)
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
    /* LMDB also returns EIO for a write that was cut short. */
    return error_raise(status, "cannot %s %s: %s%s", what, database->path,
                       mdb_strerror(code),
                       code == EIO ? ", as on a full disk" : "");
}

/* Extend a file that is shorter than it says; see the top of this file. */
static enum hoop_status
database_file_extend(const struct database *database)
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
        return lmdb_error_raise(database, "open", code);

    const off_t n_wanted =
        (off_t)(known.me_last_pgno + 1) * (off_t)shape.ms_psize;

    if (file.st_size >= n_wanted)
        return HOOP_OK;
    if (truncate(database->path, n_wanted) != 0)
        return lmdb_error_raise(database, "open", errno);
    return HOOP_OK;
}

static enum hoop_status
lmdb_env_open(struct database *database)
{
    const unsigned int syncing =
        database->durability == STORAGE_SURVIVES_PROCESS_CRASH ? MDB_NOSYNC : 0;

    int code = mdb_env_create(&database->env);
    if (code == 0)
        code = mdb_env_set_mapsize(database->env, database->n_map);
    if (code == 0)
        code = mdb_env_open(database->env, database->path,
                            MDB_NOSUBDIR | MDB_NOLOCK | syncing,
                            S_IRUSR | S_IWUSR);
    if (code == MDB_INVALID)
        return error_raise(HOOP_E_DATA_LOSS,
                           "%s is no file of hoopd's, or is damaged",
                           database->path);
    if (code != 0)
        return lmdb_error_raise(database, "open", code);
    mdb_env_set_assert(database->env, on_lmdb_assertion);
    return database_file_extend(database);
}

static enum hoop_status
commit_checksum_record_read(struct database *database, MDB_txn *txn)
{
    const struct storage_span commit_record = commit_record_key();
    MDB_val key = {commit_record.n_bytes,
                   (void *)(uintptr_t)commit_record.bytes};
    struct storage_span value;
    MDB_val stored;
    uint64_t sum;

    database->commit_record = (struct commit_record){0};

    const int code = mdb_get(txn, database->records, &key, &stored);

    if (code == MDB_NOTFOUND)
        return HOOP_OK;
    if (code != 0)
        return lmdb_error_raise(database, "read", code);
    if (!record_split_and_verify(
            commit_record,
            (struct storage_span){stored.mv_data, stored.mv_size}, &value,
            &sum) ||
        !commit_record_decode(value, &database->commit_record))
        return error_raise(HOOP_E_DATA_LOSS,
                           "%s is damaged: its count of records is none",
                           database->path);
    return HOOP_OK;
}

static enum hoop_status
lmdb_records_open(struct database *database)
{
    MDB_txn *txn = NULL;
    enum hoop_status status = HOOP_OK;

    int code = mdb_txn_begin(database->env, NULL, 0, &txn);
    if (code == 0)
        code = mdb_dbi_open(txn, NULL, 0, &database->records);
    if (code == 0)
        status = commit_checksum_record_read(database, txn);
    if (code == 0 && status == HOOP_OK)
        code = mdb_txn_commit(txn);
    else
        mdb_txn_abort(txn);
    if (code != 0)
        return lmdb_error_raise(database, "open", code);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Map the file without LMDB. *out_file has no bytes if there is no file. */
static enum hoop_status
database_file_map(const char *path, struct storage_span *out_file)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat file;

    *out_file = (struct storage_span){0};
    if (fd < 0 && errno == ENOENT)
        return HOOP_OK;
    if (fd < 0 || fstat(fd, &file) != 0) {
        const int error = errno;

        if (fd >= 0)
            close(fd);
        return error_raise(error == EACCES ? HOOP_E_DENIED : HOOP_E_UNAVAILABLE,
                           "cannot read %s: %s", path, strerror(error));
    }
    if (!S_ISREG(file.st_mode) || file.st_size == 0) {
        close(fd);
        return error_raise(HOOP_E_DATA_LOSS, "%s",
                           file.st_size == 0 ? "it has no bytes"
                                             : "it is no file");
    }
    void *bytes =
        mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return error_raise(HOOP_E_UNAVAILABLE, "cannot read %s: %s", path,
                           strerror(errno));
    *out_file = (struct storage_span){bytes, (size_t)file.st_size};
    return HOOP_OK;
}

static void
database_file_unmap(struct storage_span file)
{
    if (file.n_bytes)
        munmap((void *)(uintptr_t)file.bytes, file.n_bytes);
}

static enum hoop_status
record_visit_ignore(void *owner,
                    struct storage_span key,
                    struct storage_span value)
{
    (void)owner;
    (void)key;
    (void)value;
    return HOOP_OK;
}

/* Runs in a child process: checks the file first without LMDB, then with it. */
static enum hoop_status
database_file_check(void *owner)
{
    struct database *database = owner;
    struct storage_span file;

    enum hoop_status status = database_file_map(database->path, &file);
    if (status == HOOP_OK && file.n_bytes)
        status = pages_check(file);
    database_file_unmap(file);
    if (status != HOOP_OK || !file.n_bytes)
        return status;
    status = lmdb_env_open(database);
    if (status == HOOP_OK)
        status = lmdb_records_open(database);
    if (status == HOOP_OK)
        status = database_visit_records(database, record_visit_ignore, NULL);
    return status;
}

/* The text ends with what can be done. */
static enum hoop_status
damage_advice_raise(const struct database *database)
{
    return error_raise(HOOP_E_DATA_LOSS,
                       "%s is damaged: %s. Keep what can be read with "
                       "--data-repair, restore the file from a copy, or move "
                       "it away to start empty",
                       database->path, error_text());
}

static enum hoop_status
database_create(const char *folder, const char *name, struct database **out)
{
    struct database *database = calloc(1, sizeof(*database));

    if (!database)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a database");
    snprintf(database->path, sizeof(database->path), "%.*s/%s",
             LIMIT_SETTING - 1, folder, name);
    database->n_map = LIMIT_STORAGE_MAP;
    *out = database;
    return HOOP_OK;
}

static enum hoop_status
database_parts_open(struct database *database)
{
    enum hoop_status status = lmdb_env_open(database);
    if (status == HOOP_OK)
        status = lmdb_records_open(database);
    if (status == HOOP_OK && stat(database->path, &database->file) != 0)
        status = lmdb_error_raise(database, "open", errno);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
database_open(const char *folder,
              enum storage_durability durability,
              struct database **out_database)
{
    CLEANUP(database_close) struct database *database = NULL;

    enum hoop_status status =
        database_create(folder, database_file_name, &database);
    if (status != HOOP_OK)
        return error_pass(status);
    database->durability = durability;
    status = private_file_check_own("data file", database->path);
    if (status != HOOP_OK)
        return error_pass(status);
    status = isolation_run_in_child(database_file_check, database,
                                    LIMIT_STORAGE_CHECK_MS);
    if (status == HOOP_E_DATA_LOSS)
        return damage_advice_raise(database);
    if (status == HOOP_E_PRECONDITION || status == HOOP_E_TIMEOUT ||
        status == HOOP_E_EXHAUSTED)
        return error_raise(status, "cannot use %s: %s", database->path,
                           error_text());
    if (status == HOOP_OK)
        status = database_parts_open(database);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_database = STEAL(database);
    return HOOP_OK;
}

enum hoop_status
database_salvage(const char *folder,
                 const struct pages_visitor *visitor,
                 struct commit_record *out_written)
{
    CLEANUP(database_close) struct database *database = NULL;
    struct storage_span file;

    enum hoop_status status =
        database_create(folder, database_file_name, &database);
    if (status == HOOP_OK)
        status = database_file_map(database->path, &file);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!file.n_bytes)
        return error_raise(HOOP_E_NOT_FOUND, "there is no file %s",
                           database->path);
    status = pages_visit_records(file, visitor, out_written);
    database_file_unmap(file);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Link the file also under an unused name beside it. */
static enum hoop_status
damaged_file_link(const struct database *database,
                  char out_former[LIMIT_SETTING])
{
    for (int i = 1; i < 1000; i++) {
        if (snprintf(out_former, LIMIT_SETTING, "%s.damaged-%d", database->path,
                     i) >= LIMIT_SETTING)
            break;
        if (link(database->path, out_former) == 0)
            return HOOP_OK;
        if (errno != EEXIST)
            return error_raise(HOOP_E_UNAVAILABLE, "cannot make %s: %s",
                               out_former, strerror(errno));
    }
    return error_raise(HOOP_E_UNAVAILABLE, "no name is left for the former %s",
                       database->path);
}

enum hoop_status
database_replace_file(const char *folder,
                      const struct changeset *records,
                      char out_former[LIMIT_SETTING])
{
    CLEANUP(database_close) struct database *damaged = NULL;
    CLEANUP(database_close) struct database *repaired = NULL;

    enum hoop_status status =
        database_create(folder, database_file_name, &damaged);
    if (status == HOOP_OK)
        status = database_create(folder, repaired_file_name, &repaired);
    if (status != HOOP_OK)
        return error_pass(status);
    /* An earlier repair may not have finished. */
    unlink(repaired->path);
    repaired->durability = STORAGE_SURVIVES_MACHINE_CRASH;
    status = database_parts_open(repaired);
    if (status == HOOP_OK)
        status = database_apply_changes(repaired, records);
    if (status == HOOP_OK)
        status = damaged_file_link(damaged, out_former);
    if (status != HOOP_OK)
        return error_pass(status);
    if (rename(repaired->path, damaged->path) != 0)
        return lmdb_error_raise(damaged, "replace", errno);
    return HOOP_OK;
}

enum hoop_status
database_sync(struct database *database)
{
    const int code = database->env ? mdb_env_sync(database->env, 1) : MDB_PANIC;

    if (code != 0)
        return lmdb_error_raise(database, "write", code);
    return HOOP_OK;
}

void
database_close(struct database *database)
{
    if (!database)
        return;
    if (database->env)
        mdb_env_close(STEAL(database->env));
    free(database);
}

static enum hoop_status
cursor_visit_records(const struct database *database,
                     MDB_cursor *cursor,
                     database_visit_fn *fn,
                     void *owner)
{
    struct storage_span value;
    MDB_val stored;
    MDB_val key;
    int code;

    while ((code = mdb_cursor_get(cursor, &key, &stored, MDB_NEXT)) == 0) {
        const struct storage_span name = {key.mv_data, key.mv_size};
        uint64_t sum;

        if (!record_split_and_verify(
                name, (struct storage_span){stored.mv_data, stored.mv_size},
                &value, &sum))
            return error_raise(HOOP_E_DATA_LOSS,
                               "%s is damaged: a record is not what was "
                               "written",
                               database->path);
        if (commit_record_is_key(name))
            continue;

        const enum hoop_status status = fn(owner, name, value);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (code != MDB_NOTFOUND)
        return lmdb_error_raise(database, "read", code);
    return HOOP_OK;
}

enum hoop_status
database_visit_records(struct database *database,
                       database_visit_fn *fn,
                       void *owner)
{
    MDB_cursor *cursor = NULL;
    MDB_txn *txn = NULL;
    enum hoop_status status = HOOP_OK;

    int code = mdb_txn_begin(database->env, NULL, MDB_RDONLY, &txn);
    if (code == 0)
        code = mdb_cursor_open(txn, database->records, &cursor);
    if (code == 0)
        status = cursor_visit_records(database, cursor, fn, owner);
    else
        status = lmdb_error_raise(database, "read", code);
    if (cursor)
        mdb_cursor_close(cursor);
    if (txn)
        mdb_txn_abort(txn);
    return status;
}

/* Remove the record with this key, if there is one, from the counts. */
static int
commit_record_subtract(const struct database *database,
                       MDB_txn *txn,
                       struct storage_span name,
                       struct commit_record *commit_record)
{
    MDB_val key = {name.n_bytes, (void *)(uintptr_t)name.bytes};
    MDB_val stored;
    uint64_t sum;

    const int code = mdb_get(txn, database->records, &key, &stored);

    if (code == MDB_NOTFOUND)
        return 0;
    if (code != 0)
        return code;
    if (stored.mv_size < sizeof(sum))
        return MDB_CORRUPTED;
    memcpy(&sum, stored.mv_data, sizeof(sum));
    commit_record->n_records--;
    commit_record->sum -= sum;
    return 0;
}

static int
record_value_write(const struct database *database,
                   MDB_txn *txn,
                   struct storage_span name,
                   struct storage_span value)
{
    const uint64_t sum = record_checksum(name, value);
    MDB_val key = {name.n_bytes, (void *)(uintptr_t)name.bytes};
    MDB_val stored = {.mv_size = sizeof(sum) + value.n_bytes};

    const int code =
        mdb_put(txn, database->records, &key, &stored, MDB_RESERVE);
    if (code != 0)
        return code;
    memcpy(stored.mv_data, &sum, sizeof(sum));
    if (value.n_bytes)
        memcpy((char *)stored.mv_data + sizeof(sum), value.bytes,
               value.n_bytes);
    return 0;
}

static int
record_write_and_count(const struct database *database,
                       MDB_txn *txn,
                       const struct change *change,
                       struct commit_record *commit_record)
{
    int code =
        commit_record_subtract(database, txn, change->key, commit_record);
    if (code == 0)
        code = record_value_write(database, txn, change->key, change->value);
    if (code != 0)
        return code;
    commit_record->n_records++;
    commit_record->sum += record_checksum(change->key, change->value);
    return 0;
}

/* Search again from the prefix after each deletion, because LMDB does not
 * document where the cursor then stands. */
static int
records_erase_prefix(const struct database *database,
                     MDB_txn *txn,
                     struct storage_span prefix,
                     struct commit_record *commit_record)
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
            code = commit_record_subtract(
                database, txn, (struct storage_span){key.mv_data, key.mv_size},
                commit_record);
        if (code == 0)
            code = mdb_cursor_del(cursor, 0);
    }
    if (cursor)
        mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? 0 : code;
}

static int
commit_checksum_record_put(const struct database *database,
                           MDB_txn *txn,
                           const struct commit_record *commit_record)
{
    uint8_t bytes[COMMIT_RECORD_BYTES];

    commit_record_encode(commit_record, bytes);
    return record_value_write(database, txn, commit_record_key(),
                              (struct storage_span){bytes, sizeof(bytes)});
}

static int
changeset_write(const struct database *database,
                MDB_txn *txn,
                const struct changeset *changes,
                struct commit_record *commit_record)
{
    struct change change;
    size_t at = 0;
    int code = 0;

    while (code == 0 && changeset_next(changes, &at, &change)) {
        code =
            change.kind == CHANGE_PUT
                ? record_write_and_count(database, txn, &change, commit_record)
                : records_erase_prefix(database, txn, change.key,
                                       commit_record);
    }
    return code == 0 ? commit_checksum_record_put(database, txn, commit_record)
                     : code;
}

/* Return the number of the file's last commit, whichever process made it. */
static int
last_commit_number_read(const struct database *database, uint64_t *out_commit)
{
    MDB_txn *txn = NULL;
    const int code = mdb_txn_begin(database->env, NULL, MDB_RDONLY, &txn);

    if (code != 0)
        return code;
    *out_commit = mdb_txn_id(txn);
    mdb_txn_abort(txn);
    return 0;
}

/* Returns ESTALE if another process has written since our last commit. */
static int
changeset_try_commit(struct database *database, const struct changeset *changes)
{
    struct commit_record commit_record = database->commit_record;
    uint64_t commit = 0;
    MDB_txn *txn = NULL;

    int code = mdb_txn_begin(database->env, NULL, 0, &txn);
    if (code != 0)
        return code;
    commit_record.commit = mdb_txn_id(txn);
    code = commit_record.commit == database->commit_record.commit + 1
               ? changeset_write(database, txn, changes, &commit_record)
               : ESTALE;
    if (code != 0) {
        mdb_txn_abort(txn);
        return code;
    }
    code = mdb_txn_commit(txn);
    if (code == 0)
        code = last_commit_number_read(database, &commit);
    if (code == 0 && commit != commit_record.commit)
        code = ESTALE;
    if (code == 0)
        database->commit_record = commit_record;
    return code;
}

static enum hoop_status
foreign_commit_raise(const struct database *database)
{
    return error_raise(HOOP_E_ABORTED,
                       "cannot write %s: another process has written to it, "
                       "although this one holds its lock",
                       database->path);
}

/* After a failed write of certain pages LMDB returns MDB_PANIC until the file
 * is opened again. The file itself is intact. */
static enum hoop_status
database_reopen(struct database *database)
{
    struct stat file;

    if (database->env)
        mdb_env_close(STEAL(database->env));
    /* If the file is gone, mdb_env_open() would create an empty one. */
    if (stat(database->path, &file) != 0 ||
        file.st_dev != database->file.st_dev ||
        file.st_ino != database->file.st_ino)
        return error_raise(HOOP_E_UNAVAILABLE,
                           "cannot write %s: it is not the file that it was",
                           database->path);

    const uint64_t commit = database->commit_record.commit;
    enum hoop_status status = lmdb_env_open(database);
    if (status == HOOP_OK)
        status = lmdb_records_open(database);
    /* The failed commit may have been written nevertheless. */
    if (status == HOOP_OK && database->commit_record.commit != commit &&
        database->commit_record.commit != commit + 1) {
        database->commit_record.commit = commit;
        status = foreign_commit_raise(database);
    }
    if (status == HOOP_OK)
        return HOOP_OK;
    if (database->env)
        mdb_env_close(STEAL(database->env));
    return error_pass(status);
}

static enum hoop_status
changeset_commit_or_reopen(struct database *database,
                           const struct changeset *changes)
{
    int code =
        database->env ? changeset_try_commit(database, changes) : MDB_PANIC;

    if (code == MDB_PANIC) {
        const enum hoop_status status = database_reopen(database);
        if (status != HOOP_OK)
            return error_pass(status);
        code = changeset_try_commit(database, changes);
    }

    while (code == MDB_MAP_FULL && database->n_map < LIMIT_STORAGE_MAP_MAX) {
        database->n_map *= 2;
        code = mdb_env_set_mapsize(database->env, database->n_map);
        if (code == 0)
            code = changeset_try_commit(database, changes);
    }
    if (code == ESTALE)
        return foreign_commit_raise(database);
    if (code != 0)
        return lmdb_error_raise(database, "write", code);
    return HOOP_OK;
}

enum hoop_status
database_apply_changes(struct database *database,
                       const struct changeset *changes)
{
    database_path_in_use = database->path;
    const enum hoop_status status =
        changeset_commit_or_reopen(database, changes);
    database_path_in_use = NULL;
    return status;
}

const char *
database_path(const struct database *database)
{
    return database->path;
}
