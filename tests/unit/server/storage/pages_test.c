/*
 * tests/unit/server/storage/pages_test.c - whatever happens to a file is found
 *
 * The oracle is the program that wrote it: either all records come back as they
 * were put, or the file is refused. Never others, and never a crash.
 */

#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "folder.h"
#include "storage/database.h"
#include "storage/pages.h"

enum {
    PAGE = 4096,
    META_BYTES = 16 + 136, /* of a page at the front, what is used */
    N_DAMAGED = 360,
    REFUSED_PER_OPEN = 7, /* prime to the number of kinds of damage */
    N_RECORDS = 400,
    VALUE_MAX = 9000,
};

struct record {
    char key[16];
    uint8_t value[VALUE_MAX];
    size_t n_value_bytes; /* 0: none is there */
};

/* What was put, and the file that holds it. */
struct written {
    struct folder folder;
    struct record records[N_RECORDS];
    uint8_t *bytes;
    size_t n_bytes;
};

static void
records_apply(struct written *written,
              struct database *database,
              unsigned *seed)
{
    CLEANUP(changeset_deinit) struct changeset changes = {0};

    for (int i = 0; i < 40; i++) {
        struct record *record =
            &written->records[(unsigned)rand_r(seed) % N_RECORDS];
        const size_t n_key_bytes =
            (size_t)snprintf(record->key, sizeof(record->key), "k%zd",
                             record - written->records);
        const struct storage_span key = {record->key, n_key_bytes + 1};

        record->n_value_bytes = rand_r(seed) % 4 == 0    ? 0
                                : rand_r(seed) % 16 == 0 ? VALUE_MAX
                                                         : 100;
        for (size_t b = 0; b < record->n_value_bytes; b++)
            record->value[b] = (uint8_t)rand_r(seed);
        if (record->n_value_bytes)
            changeset_put(
                &changes, 1, key,
                (struct storage_span){record->value, record->n_value_bytes});
        else
            changeset_erase(&changes, 1, key);
    }
    assert_ok(database_apply_changes(database, &changes));
}

static void
file_read(struct written *written)
{
    const int fd =
        open(folder_file(&written->folder, "hoopd.mdb"), O_RDONLY | O_CLOEXEC);
    struct stat file;

    assert_int_equal(fstat(fd, &file), 0);
    written->n_bytes = (size_t)file.st_size;
    written->bytes = malloc(written->n_bytes);
    assert_non_null(written->bytes);
    assert_int_equal(read(fd, written->bytes, written->n_bytes),
                     written->n_bytes);
    close(fd);
}

static int
written_make(void **state)
{
    struct written *written = calloc(1, sizeof(*written));
    struct database *database = NULL;
    unsigned seed = 7;

    assert_non_null(written);
    folder_make(&written->folder);
    assert_ok(database_open(written->folder.path,
                            STORAGE_SURVIVES_PROCESS_CRASH, &database));
    for (int commit = 0; commit < 31; commit++)
        records_apply(written, database, &seed);
    database_close(database);
    file_read(written);
    assert_true(written->n_bytes / PAGE > 40);
    *state = written;
    return 0;
}

static int
written_free(void **state)
{
    struct written *written = *state;

    folder_remove(&written->folder);
    free(written->bytes);
    free(written);
    return 0;
}

/* What was read, checked off. */
struct checking {
    const struct written *written;
    bool is_found[N_RECORDS];
    size_t n_wrong;
};

static void
record_check(void *owner, struct storage_span key, struct storage_span value)
{
    struct checking *checking = owner;
    const char *text = key.bytes;
    const unsigned long i = key.n_bytes > 2 && text[1] == 'k'
                                ? strtoul(text + 2, NULL, 10)
                                : N_RECORDS;

    if (i >= N_RECORDS) {
        checking->n_wrong++;
        return;
    }

    const struct record *record = &checking->written->records[i];

    if (checking->is_found[i] || record->n_value_bytes != value.n_bytes ||
        memcmp(record->value, value.bytes, value.n_bytes) != 0)
        checking->n_wrong++;
    checking->is_found[i] = true;
}

static enum hoop_status
record_take(void *owner, struct storage_span key, struct storage_span value)
{
    record_check(owner, key, value);
    return HOOP_OK;
}

static bool
is_all(const struct checking *checking)
{
    for (size_t i = 0; i < N_RECORDS; i++) {
        if (checking->is_found[i] !=
            (checking->written->records[i].n_value_bytes > 0))
            return false;
    }
    return checking->n_wrong == 0;
}

/* Without a process of its own: the check itself must not crash. */
static bool
is_refused(const struct written *written, struct storage_span file)
{
    struct checking checking = {.written = written};
    const struct pages_visitor visitor = {.on_record = record_check,
                                          .owner = &checking};
    struct commit_record commit_record;
    const enum hoop_status status = pages_check(file);

    if (status != HOOP_OK) {
        assert_int_equal(status, HOOP_E_DATA_LOSS);
        return true;
    }
    assert_ok(pages_visit_records(file, &visitor, &commit_record));
    assert_true(is_all(&checking));
    return false;
}

static void
sound_file_has_all_records(void **state)
{
    const struct written *written = *state;
    const struct storage_span file = {written->bytes, written->n_bytes};

    if (is_refused(written, file))
        fail_msg("%s", error_text());
}

/* Whatever the library does with pages: values that grow, shrink and go. */
static void
every_commit_leaves_a_sound_file(void **state)
{
    struct written *written = calloc(1, sizeof(*written));
    struct database *database = NULL;
    unsigned seed = 99;

    assert_non_null(written);
    folder_make(&written->folder);
    assert_ok(database_open(written->folder.path,
                            STORAGE_SURVIVES_PROCESS_CRASH, &database));
    for (int commit = 0; commit < 150; commit++) {
        CLEANUP(changeset_deinit) struct changeset none = {0};

        if (commit % 50 == 49)
            changeset_erase(&none, 1, (struct storage_span){"k", 1});
        if (none.n_bytes)
            assert_ok(database_apply_changes(database, &none));
        for (int i = 0; none.n_bytes && i < N_RECORDS; i++)
            written->records[i].n_value_bytes = 0;
        records_apply(written, database, &seed);
        file_read(written);
        if (is_refused(written,
                       (struct storage_span){written->bytes, written->n_bytes}))
            fail_msg("commit %d: %s", commit, error_text());
        free(written->bytes);
    }
    database_close(database);
    folder_remove(&written->folder);
    free(written);
}

static void
every_page_that_is_zeroed_or_swapped_is_found(void **state)
{
    const struct written *written = *state;
    const size_t n_pages = written->n_bytes / PAGE;
    static const uint8_t zeros[PAGE];
    uint8_t *copy = malloc(written->n_bytes);
    const struct storage_span file = {copy, written->n_bytes};
    size_t n_refused = 0;

    assert_non_null(copy);
    memcpy(copy, written->bytes, written->n_bytes);
    for (size_t i = 0; i < n_pages; i++) {
        memcpy(copy + i * PAGE, zeros, PAGE);
        n_refused += is_refused(written, file);
        memcpy(copy + i * PAGE, written->bytes + i * PAGE, PAGE);
        for (size_t j = 0; j < i; j++) {
            memcpy(copy + i * PAGE, written->bytes + j * PAGE, PAGE);
            memcpy(copy + j * PAGE, written->bytes + i * PAGE, PAGE);
            n_refused += is_refused(written, file);
            memcpy(copy + i * PAGE, written->bytes + i * PAGE, PAGE);
            memcpy(copy + j * PAGE, written->bytes + j * PAGE, PAGE);
        }
    }
    /* Those that are free, or the rest of a large value, may be anything. */
    assert_true(n_refused > n_pages * n_pages / 4);
    free(copy);
}

/* Whatever is wrong there, no older commit is taken for the last. */
static void
every_bit_of_the_front_is_harmless_or_found(void **state)
{
    const struct written *written = *state;
    const struct storage_span file = {written->bytes, written->n_bytes};

    for (size_t page = 0; page < 2; page++) {
        for (size_t bit = 0; bit < (size_t)8 * META_BYTES; bit++) {
            uint8_t *byte = &written->bytes[page * PAGE + bit / 8];

            *byte ^= (uint8_t)(1 << bit % 8);
            (void)is_refused(written, file);
            *byte ^= (uint8_t)(1 << bit % 8);
        }
    }
    /* The commit's number, at its end, in particular. */
    for (size_t bit = 0; bit < 32; bit++) {
        const size_t page = 1; /* the last of 31 */
        uint8_t *byte = &written->bytes[page * PAGE + META_BYTES - 8 + bit / 8];

        *byte ^= (uint8_t)(1 << bit % 8);
        assert_true(is_refused(written, file));
        *byte ^= (uint8_t)(1 << bit % 8);
    }
}

static void
file_of_any_length_is_whole_or_found(void **state)
{
    const struct written *written = *state;

    for (size_t n_bytes = 0; n_bytes < written->n_bytes; n_bytes += 509) {
        /* What is read beyond it is found by a sanitizer. */
        uint8_t *copy = malloc(n_bytes ? n_bytes : 1);

        assert_non_null(copy);
        memcpy(copy, written->bytes, n_bytes);
        (void)is_refused(written, (struct storage_span){copy, n_bytes});
        free(copy);
    }
}

static void
file_damage(uint8_t *bytes, size_t *n_bytes, unsigned kind, unsigned *seed)
{
    const size_t n_pages = *n_bytes / PAGE;
    uint8_t *one = bytes + (size_t)rand_r(seed) % n_pages * PAGE;
    uint8_t *other = bytes + (size_t)rand_r(seed) % n_pages * PAGE;
    uint8_t page[PAGE];

    switch (kind % 5) {
    case 0:
        one[(unsigned)rand_r(seed) % PAGE] ^= (uint8_t)(1 << rand_r(seed) % 8);
        return;
    case 1: /* its head, which says what all the rest is */
        one[(unsigned)rand_r(seed) % 64] ^= (uint8_t)(1 << rand_r(seed) % 8);
        return;
    case 2:
        memset(one, 0, PAGE);
        return;
    case 3:
        memcpy(page, one, PAGE);
        memcpy(one, other, PAGE);
        memcpy(other, page, PAGE);
        return;
    default:
        *n_bytes = (size_t)rand_r(seed) % *n_bytes;
    }
}

static void
file_write(const struct written *written, const uint8_t *bytes, size_t n_bytes)
{
    const int fd = open(folder_file(&written->folder, "hoopd.mdb"),
                        O_WRONLY | O_TRUNC | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n_bytes), n_bytes);
    close(fd);
}

/* One line that says what, where, and what to do. */
static void
text_check(const struct written *written)
{
    assert_non_null(strstr(error_text(), written->folder.path));
    assert_non_null(strstr(error_text(), "--data-repair"));
    assert_null(strchr(error_text(), '\n'));
}

/* As hoopd does, which has a process check the file first. */
static bool
is_refused_for_real(struct written *written, struct storage_span file)
{
    struct checking checking = {.written = written};
    struct database *database = NULL;
    unsigned seed = 1;

    file_write(written, file.bytes, file.n_bytes);
    const enum hoop_status status = database_open(
        written->folder.path, STORAGE_SURVIVES_PROCESS_CRASH, &database);
    if (status != HOOP_OK) {
        assert_int_equal(status, HOOP_E_DATA_LOSS);
        text_check(written);
        return true;
    }
    assert_ok(database_visit_records(database, record_take, &checking));
    assert_true(is_all(&checking));
    records_apply(&(struct written){0}, database, &seed);
    database_close(database);
    return false;
}

/* What passes the check goes to the library, which must not crash; of what does
 * not, a process finds the same, which waits for a processor each time. */
static void
damaged_files_are_whole_or_refused(void **state)
{
    struct written *written = *state;
    uint8_t *copy = malloc(written->n_bytes);
    unsigned n_refused = 0;

    assert_non_null(copy);
    for (unsigned i = 0; i < N_DAMAGED; i++) {
        size_t n_bytes = written->n_bytes;
        unsigned seed = i;

        memcpy(copy, written->bytes, n_bytes);
        file_damage(copy, &n_bytes, i, &seed);
        const struct storage_span file = {copy, n_bytes};
        const bool refuses = is_refused(written, file);
        n_refused += refuses;
        if (!refuses || n_refused % REFUSED_PER_OPEN == 0)
            assert_int_equal(is_refused_for_real(written, file), refuses);
    }
    assert_true(n_refused > N_DAMAGED / 4);
    free(copy);
}

struct salvage {
    struct checking checking;
    size_t n_damages;
    bool may_be_lost; /* the last change, as was told */
};

static void
salvage_take(void *owner, struct storage_span key, struct storage_span value)
{
    record_check(&((struct salvage *)owner)->checking, key, value);
}

static void
salvage_miss(void *owner, const char *text)
{
    struct salvage *salvage = owner;

    salvage->n_damages++;
    salvage->may_be_lost |= strstr(text, "may be lost") != NULL;
    assert_true(strstr(text, "page") || strstr(text, "entries are there"));
}

/* Of a page that is gone, the others' records are all there; of the first of
 * all, those of the commit before. */
static void
what_can_be_read_is_right(void **state)
{
    const struct written *written = *state;
    uint8_t *copy = malloc(written->n_bytes);
    size_t n_partial = 0;
    size_t n_former = 0;

    assert_non_null(copy);
    memcpy(copy, written->bytes, written->n_bytes);
    for (size_t page = 2; page < written->n_bytes / PAGE; page++) {
        struct salvage salvage = {.checking.written = written};
        const struct pages_visitor visitor = {salvage_take, salvage_miss,
                                              &salvage};
        struct commit_record commit_record;
        size_t n_found = 0;

        memset(copy + page * PAGE, 0xff, PAGE);
        assert_ok(
            pages_visit_records((struct storage_span){copy, written->n_bytes},
                                &visitor, &commit_record));
        memcpy(copy + page * PAGE, written->bytes + page * PAGE, PAGE);
        assert_true(salvage.checking.n_wrong == 0 || salvage.may_be_lost);
        n_former += salvage.may_be_lost;
        for (size_t i = 0; i < N_RECORDS; i++)
            n_found += salvage.checking.is_found[i];
        assert_true(salvage.n_damages > 0 || is_all(&salvage.checking));
        n_partial += salvage.n_damages > 0 && n_found > 0;
    }
    assert_true(n_partial > 5);
    assert_true(n_former <= 1);
    free(copy);
}

/* Whether all records are there; who says so is not told that some may be
 * gone. */
static bool
is_all_read(const struct written *written, struct storage_span file)
{
    struct salvage salvage = {.checking.written = written};
    const struct pages_visitor visitor = {salvage_take, salvage_miss, &salvage};
    struct commit_record commit_record;

    assert_ok(pages_visit_records(file, &visitor, &commit_record));
    assert_true(is_all(&salvage.checking) || salvage.may_be_lost);
    return is_all(&salvage.checking);
}

/* Which of the two was written last, by the numbers that LMDB puts there. */
static size_t
last_front(const struct written *written)
{
    uint64_t commits[2];

    for (size_t page = 0; page < 2; page++)
        memcpy(&commits[page], written->bytes + page * PAGE + META_BYTES - 8,
               sizeof(commits[page]));
    return commits[1] > commits[0];
}

static void
damaged_front_leads_to_the_last_commit_or_says_so(void **state)
{
    const struct written *written = *state;
    const struct storage_span file = {written->bytes, written->n_bytes};
    const size_t last = last_front(written);
    size_t n_all = 0;

    for (size_t page = 0; page < 2; page++) {
        for (size_t at = 0; at + 8 <= META_BYTES; at++) {
            uint8_t *bytes = written->bytes + page * PAGE + at;
            uint8_t former[8];

            memcpy(former, bytes, sizeof(former));
            memset(bytes, 0xff, sizeof(former));

            const bool is_all = is_all_read(written, file);

            memcpy(bytes, former, sizeof(former));
            if (page != last && !is_all)
                fail_msg("byte %zu of the page before the last", at);
            n_all += page == last && is_all;
        }
    }
    assert_true(n_all > META_BYTES / 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_file_has_all_records),
        cmocka_unit_test(every_commit_leaves_a_sound_file),
        cmocka_unit_test(every_page_that_is_zeroed_or_swapped_is_found),
        cmocka_unit_test(every_bit_of_the_front_is_harmless_or_found),
        cmocka_unit_test(file_of_any_length_is_whole_or_found),
        cmocka_unit_test(what_can_be_read_is_right),
        cmocka_unit_test(damaged_front_leads_to_the_last_commit_or_says_so),
        cmocka_unit_test(damaged_files_are_whole_or_refused),
    };

    return cmocka_run_group_tests(tests, written_make, written_free);
}
