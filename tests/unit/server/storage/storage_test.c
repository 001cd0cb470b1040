/* tests/unit/server/storage/storage_test.c - durable before it is said to be */

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "folder.h"
#include "net/loop.h"
#include "storage/database.h"
#include "storage/storage.h"

enum {
    DEADLINE_MS = 20000,
    ROOM = 3 << 20,
};

struct user {
    struct folder folder;
    struct loop *loop;
    struct storage *storage;
    uint64_t n_kept;
    uint64_t n_wanted;
};

static void
on_durable(void *owner, uint64_t number)
{
    struct user *user = owner;

    assert_true(number > user->n_kept);
    user->n_kept = number;
    if (number >= user->n_wanted)
        loop_stop(user->loop);
}

static enum hoop_status
user_try(struct user *user)
{
    return storage_open(
        &(struct storage_options){.loop = user->loop,
                                  .folder = user->folder.path,
                                  .durability = STORAGE_SURVIVES_PROCESS_CRASH,
                                  .on_durable = on_durable,
                                  .owner = user,
                                  .n_room = ROOM},
        &user->storage);
}

static void
user_open(struct user *user)
{
    *user = (struct user){.folder = user->folder};
    assert_ok(loop_create(&user->loop));
    assert_ok(user_try(user));
}

static void
user_close(struct user *user)
{
    storage_close(user->storage);
    loop_destroy(user->loop);
}

static struct storage_span
text(const char *text)
{
    return (struct storage_span){text, strlen(text)};
}

static enum hoop_status
count(void *owner, struct storage_span key, struct storage_span value)
{
    size_t *n_records = owner;

    ++*n_records;
    return HOOP_OK;
}

static size_t
records(struct user *user, enum storage_owner whose)
{
    size_t n_records = 0;

    assert_ok(storage_visit_records(user->storage, whose, count, &n_records));
    return n_records;
}

/* The writer thread stops here if the test says so. */
static atomic_bool is_gate_shut;
static sem_t gate_reached;
static sem_t gate_passes;

enum hoop_status
__real_database_apply_changes(struct database *database,
                              const struct changeset *changes);
enum hoop_status
__wrap_database_apply_changes(struct database *database,
                              const struct changeset *changes);

enum hoop_status
__wrap_database_apply_changes(struct database *database,
                              const struct changeset *changes)
{
    if (atomic_load(&is_gate_shut)) {
        sem_post(&gate_reached);
        sem_wait(&gate_passes);
    }
    return __real_database_apply_changes(database, changes);
}

static void
user_commit(struct user *user, const char *key)
{
    storage_put(user->storage, STORAGE_OWNER_CORE, text(key), text("v"));
    storage_commit(user->storage);
}

/* It is told when it has been written itself. */
static void
batch_that_comes_during_a_write_is_told_later(void **state)
{
    struct user user;

    folder_make(&user.folder);
    user_open(&user);
    assert_int_equal(sem_init(&gate_reached, 0, 0), 0);
    assert_int_equal(sem_init(&gate_passes, 0, 0), 0);
    atomic_store(&is_gate_shut, true);
    user_commit(&user, "one");
    sem_wait(&gate_reached);
    user_commit(&user, "two");
    sem_post(&gate_passes);
    user.n_wanted = 1;
    loop_run(user.loop);
    const uint64_t n_kept_first = user.n_kept;
    atomic_store(&is_gate_shut, false);
    sem_post(&gate_passes);
    user.n_wanted = 2;
    if (user.n_kept < 2)
        loop_run(user.loop);
    assert_int_equal(n_kept_first, 1);
    assert_int_equal(user.n_kept, 2);
    user_close(&user);
    folder_remove(&user.folder);
}

static void
pieces_are_told_when_they_are_durable(void **state)
{
    struct user user;
    char key[16];

    folder_make(&user.folder);
    user_open(&user);
    assert_int_equal(storage_batch_number(user.storage), 0);
    storage_commit(user.storage);
    assert_int_equal(storage_batch_number(user.storage), 0);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "%d", i);
        storage_put(user.storage, STORAGE_OWNER_CORE, text(key), text("v"));
        storage_put(user.storage, STORAGE_OWNER_REPLIES, text("same"),
                    text(key));
        assert_int_equal(storage_batch_number(user.storage), i + 1);
        storage_commit(user.storage);
        assert_int_equal(storage_batch_number(user.storage), i + 1);
    }
    user.n_wanted = 100;
    loop_run(user.loop);
    assert_int_equal(user.n_kept, 100);
    assert_true(storage_is_healthy(user.storage));
    user_close(&user);

    user_open(&user);
    assert_int_equal(records(&user, STORAGE_OWNER_CORE), 100);
    assert_int_equal(records(&user, STORAGE_OWNER_REPLIES), 1);
    user_close(&user);
    folder_remove(&user.folder);
}

static void
flush_waits_and_tells(void **state)
{
    struct user user;

    folder_make(&user.folder);
    user_open(&user);
    storage_put(user.storage, STORAGE_OWNER_CORE, text("k"), text("v"));
    storage_commit(user.storage);
    storage_flush(user.storage, DEADLINE_MS);
    assert_int_equal(user.n_kept, 1);
    user_close(&user);
    folder_remove(&user.folder);
}

static void
every_opening_is_a_new_generation(void **state)
{
    struct user user;

    folder_make(&user.folder);
    user_open(&user);
    const struct storage_term first = storage_term(user.storage);
    assert_int_equal(first.generation, 1);
    assert_true(first.lineage);

    struct storage *second = NULL;
    assert_int_equal(
        storage_open(&(struct storage_options){.loop = user.loop,
                                               .folder = user.folder.path,
                                               .on_durable = on_durable},
                     &second),
        HOOP_E_EXISTS);
    user_close(&user);
    user_open(&user);
    assert_int_equal(storage_term(user.storage).generation, 2);
    assert_int_equal(storage_term(user.storage).lineage, first.lineage);
    user_close(&user);
    folder_remove(&user.folder);
}

/* One writes numbers and says what is durable; it is killed. */
static void
child_write(struct user *user, int out)
{
    char key[16];

    user_open(user);
    for (uint64_t i = 1;; i++) {
        snprintf(key, sizeof(key), "%08" PRIu64, i);
        storage_put(user->storage, STORAGE_OWNER_CORE, text(key), text("v"));
        storage_commit(user->storage);
        storage_flush(user->storage, DEADLINE_MS);
        if (write(out, &user->n_kept, sizeof(user->n_kept)) < 0)
            _exit(1);
    }
}

static void
killed_writer_has_kept_what_it_told(void **state)
{
    struct user user;
    uint64_t n_told = 0;
    int pipes[2];

    folder_make(&user.folder);
    assert_int_equal(pipe(pipes), 0);
    const pid_t child = fork();
    if (child == 0)
        child_write(&user, pipes[1]);
    close(pipes[1]);
    while (n_told < 50)
        assert_int_equal(read(pipes[0], &n_told, sizeof(n_told)),
                         sizeof(n_told));
    kill(child, SIGKILL);
    while (read(pipes[0], &n_told, sizeof(n_told)) == sizeof(n_told))
        continue;
    waitpid(child, NULL, 0);
    close(pipes[0]);

    user_open(&user);
    assert_true(records(&user, STORAGE_OWNER_CORE) >= n_told);
    user_close(&user);
    folder_remove(&user.folder);
}

/* As on a full disk that is given room. */
static void
write_that_fails_is_done_later(void **state)
{
    static char large[1 << 20];
    struct user user;
    struct rlimit former;

    folder_make(&user.folder);
    user_open(&user);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &former), 0);
    const struct rlimit less = {256 * 1024, former.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    storage_put(user.storage, STORAGE_OWNER_CORE, text("k"),
                (struct storage_span){large, sizeof(large)});
    storage_commit(user.storage);

    const uint64_t deadline_ns = clock_deadline_ns(DEADLINE_MS);
    while (storage_is_healthy(user.storage) && !clock_is_past(deadline_ns))
        poll(NULL, 0, 1);
    assert_false(storage_is_healthy(user.storage));
    assert_int_equal(user.n_kept, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &former), 0);
    storage_flush(user.storage, DEADLINE_MS);
    assert_int_equal(user.n_kept, 1);
    user_close(&user);
    folder_remove(&user.folder);
}

/* What waits for a full disk is bounded by who asks before. */
static void
room_ends_with_the_disk_and_comes_back(void **state)
{
    static char large[1 << 20];
    struct user user;
    struct rlimit former;
    unsigned n_put = 0;

    folder_make(&user.folder);
    user_open(&user);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &former), 0);
    const struct rlimit less = {256 * 1024, former.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    while (storage_has_room(user.storage)) {
        storage_put(user.storage, STORAGE_OWNER_CORE, text("k"),
                    (struct storage_span){large, sizeof(large)});
        storage_commit(user.storage);
        assert_true(++n_put <= ROOM / sizeof(large));
    }
    assert_int_equal(n_put, ROOM / sizeof(large));
    assert_int_equal(user.n_kept, 0);

    assert_int_equal(setrlimit(RLIMIT_FSIZE, &former), 0);
    storage_flush(user.storage, DEADLINE_MS);
    assert_int_equal(user.n_kept, n_put);
    assert_true(storage_has_room(user.storage));
    user_close(&user);
    folder_remove(&user.folder);
}

static void
data_of_others_is_refused(void **state)
{
    static const uint8_t later[] = {0x94, 0xa5, 'h', 'o', 'o',
                                    'p',  'd',  99,  7,   1};
    CLEANUP(changeset_deinit) struct changeset changes = {0};
    struct user user;
    struct database *database = NULL;

    folder_make(&user.folder);
    assert_ok(loop_create(&user.loop));
    assert_ok(database_open(user.folder.path, STORAGE_SURVIVES_MACHINE_CRASH,
                            &database));
    changeset_put(&changes, STORAGE_OWNER_STORAGE, text("term"),
                  (struct storage_span){later, sizeof(later)});
    assert_ok(database_apply_changes(database, &changes));
    assert_int_equal(user_try(&user), HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), user.folder.path));
    changeset_clear(&changes);
    changeset_put(&changes, STORAGE_OWNER_STORAGE, text("term"), text("?"));
    assert_ok(database_apply_changes(database, &changes));
    database_close(database);
    assert_int_equal(user_try(&user), HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), user.folder.path));
    loop_destroy(user.loop);
    folder_remove(&user.folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_told_when_they_are_durable),
        cmocka_unit_test(batch_that_comes_during_a_write_is_told_later),
        cmocka_unit_test(flush_waits_and_tells),
        cmocka_unit_test(every_opening_is_a_new_generation),
        cmocka_unit_test(killed_writer_has_kept_what_it_told),
        cmocka_unit_test(write_that_fails_is_done_later),
        cmocka_unit_test(room_ends_with_the_disk_and_comes_back),
        cmocka_unit_test(data_of_others_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
