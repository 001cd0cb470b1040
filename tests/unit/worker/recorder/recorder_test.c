/* tests/unit/worker/recorder/recorder_test.c - the record is what was called,
 * whoever reads it and whenever */

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "pseudo_random.h"
#include "unit/worker/recorder/recorder_fixture.h"

enum {
    THREADS = 4,
    THREAD_CALLS = 30000, /* each: the ring wraps around many times */
    READS = 40,
};

static hoop_recording_t *
fixture_read(const struct recorder_fixture *fixture)
{
    hoop_recording_t *recording = NULL;

    assert_ok(hoop_recording_read(fixture->path, &recording));
    return recording;
}

static void
recorder_records_all_that_a_call_is(void **state)
{
    const struct recorder_call call = call_of_number(5);
    struct recorder_fixture fixture;
    struct timespec before, after;
    size_t n_calls;

    (void)state;
    recorder_fixture_open(&fixture);
    recorder_set_name(fixture.recorder, RECORDER_ALGORITHMS, 5, "ring");
    clock_gettime(CLOCK_REALTIME, &before);
    struct recorder_slot *slot = recorder_called(fixture.recorder, &call);
    recorder_begun(fixture.recorder, slot);
    recorder_arrived(fixture.recorder, slot, 6);
    recorder_ended(fixture.recorder, slot,
                   &(struct recorder_end){.status = HOOP_OK,
                                          .path = RECORDER_PATH_SOCKET});
    clock_gettime(CLOCK_REALTIME, &after);
    recorder_destroy(fixture.recorder);
    fixture.recorder = NULL;

    hoop_recording_t *recording = fixture_read(&fixture);
    const struct hoop_recorded_rank *origin = hoop_recording_origin(recording);
    assert_string_equal(origin->job, "job");
    assert_string_equal(origin->host, "host");
    assert_int_equal(origin->rank, 3);
    assert_int_equal(origin->size, 8);
    assert_int_equal(origin->pid, 70);
    assert_int_equal(origin->epoch, 7);
    assert_int_equal(origin->run, 77);
    assert_true(origin->is_closed);
    const struct hoop_recorded_call *read =
        hoop_recording_calls(recording, &n_calls);
    assert_int_equal(n_calls, 1);
    assert_int_equal(read->wire_number, 5);
    assert_string_equal(read->algorithm, "ring");
    assert_int_equal(read->path, HOOP_RECORDED_SOCKET);
    assert_int_equal(read->waited_for, 6);
    const uint64_t error_ns = origin->clock_error_ns + 1000;
    assert_true(error_ns < 10000000);
    assert_true(read->called_ns + error_ns >=
                (uint64_t)before.tv_sec * 1000000000 +
                    (uint64_t)before.tv_nsec);
    assert_true(read->called_ns <= read->begun_ns);
    assert_true(read->begun_ns <= read->first_byte_ns);
    assert_true(read->first_byte_ns == read->last_byte_ns);
    assert_true(read->last_byte_ns <= read->ended_ns);
    assert_true(read->ended_ns <= (uint64_t)after.tv_sec * 1000000000 +
                                      (uint64_t)after.tv_nsec + error_ns);
    hoop_recording_destroy(recording);
    recorder_fixture_close(&fixture);
}

/* The last calls are there, and no others. */
static void
ring_that_wrapped_keeps_the_last_calls_in_order(void **state)
{
    enum {
        CALLS = 2 * LIMIT_RECORDER_CALLS + 1000,
    };
    struct recorder_fixture fixture;
    size_t n_calls;

    (void)state;
    recorder_fixture_open(&fixture);
    for (uint64_t number = 1; number <= CALLS; number++)
        call_make(fixture.recorder, number);
    hoop_recording_t *recording = fixture_read(&fixture);
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(recording, &n_calls);

    assert_int_equal(n_calls, LIMIT_RECORDER_CALLS);
    for (size_t i = 0; i < n_calls; i++) {
        assert_int_equal(calls[i].wire_number, CALLS - n_calls + 1 + i);
        assert_is_call(&calls[i]);
    }
    hoop_recording_destroy(recording);
    recorder_fixture_close(&fixture);
}

static void
call_that_hangs_is_not_written_over(void **state)
{
    const struct recorder_call hanging = call_of_number(1);
    struct recorder_fixture fixture;
    size_t n_calls;

    (void)state;
    recorder_fixture_open(&fixture);
    struct recorder_slot *slot = recorder_called(fixture.recorder, &hanging);
    for (uint64_t number = 2; number < 3 * LIMIT_RECORDER_CALLS; number++)
        call_make(fixture.recorder, number);
    hoop_recording_t *recording = fixture_read(&fixture);
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(recording, &n_calls);

    assert_int_equal(calls[0].wire_number, 1);
    assert_int_equal(calls[0].state, HOOP_RECORDED_CALLED);
    assert_int_equal(hoop_recording_origin(recording)->n_dropped, 0);
    hoop_recording_destroy(recording);
    recorder_ended(fixture.recorder, slot,
                   &(struct recorder_end){.status = HOOP_OK});
    recorder_fixture_close(&fixture);
}

static void
calls_that_find_no_room_are_counted(void **state)
{
    struct recorder_fixture fixture;

    (void)state;
    recorder_fixture_open(&fixture);
    for (uint64_t number = 0; number < LIMIT_RECORDER_CALLS; number++) {
        const struct recorder_call call = call_of_number(number);

        assert_non_null(recorder_called(fixture.recorder, &call));
    }
    const struct recorder_call one_more = call_of_number(9);
    assert_null(recorder_called(fixture.recorder, &one_more));
    recorder_begun(fixture.recorder, NULL);
    recorder_ended(fixture.recorder, NULL,
                   &(struct recorder_end){.status = HOOP_OK});
    hoop_recording_t *recording = fixture_read(&fixture);
    assert_int_equal(hoop_recording_origin(recording)->n_dropped, 1);
    hoop_recording_destroy(recording);
    recorder_fixture_close(&fixture);
}

static void
clocks_are_compared_once_in_a_second_of_waiting(void **state)
{
    const uint64_t begin_ns = 5;
    const uint64_t next_ns = begin_ns + CLOCK_NS_PER_S;
    struct recorder_fixture fixture;

    (void)state;
    recorder_fixture_open(&fixture);
    const _Atomic uint64_t *n_moments =
        &fixture.recorder->memory->header.calibration.n_moments;
    const uint64_t n_before = *n_moments;

    assert_int_equal(recorder_lives(fixture.recorder, begin_ns), next_ns);
    assert_int_equal(*n_moments, n_before + 1);
    assert_int_equal(recorder_lives(fixture.recorder, next_ns - 1), next_ns);
    assert_int_equal(*n_moments, n_before + 1);
    assert_int_equal(recorder_lives(fixture.recorder, next_ns),
                     next_ns + CLOCK_NS_PER_S);
    assert_int_equal(*n_moments, n_before + 2);
    assert_int_equal(recorder_lives(NULL, next_ns), CLOCK_NEVER);
    recorder_fixture_close(&fixture);
}

static void
longest_wait_is_kept_and_the_one_under_way_is_shown(void **state)
{
    const struct recorder_call call = call_of_number(1);
    const struct timespec pause = {.tv_nsec = 2000000};
    struct recorder_fixture fixture;
    size_t n_calls;

    (void)state;
    recorder_fixture_open(&fixture);
    struct recorder_slot *slot = recorder_called(fixture.recorder, &call);
    recorder_waits(fixture.recorder, slot, 4);
    recorder_waits(fixture.recorder, slot, 4);
    recorder_waits(fixture.recorder, slot, 5);
    nanosleep(&pause, NULL);
    recorder_goes_on(fixture.recorder, slot);
    recorder_waits(fixture.recorder, slot, 6);
    hoop_recording_t *recording = fixture_read(&fixture);
    const struct hoop_recorded_call *read =
        hoop_recording_calls(recording, &n_calls);
    assert_int_equal(read->waiting_for, 6);
    assert_true(read->waiting_since_ns > 0);
    assert_int_equal(read->waited_for, 5);
    assert_true(read->waited_ns >= 2000000);
    hoop_recording_destroy(recording);

    recorder_goes_on(fixture.recorder, slot);
    recorder_ended(
        fixture.recorder, slot,
        &(struct recorder_end){.status = HOOP_E_PEER_LOST, .waited_for = 7});
    recording = fixture_read(&fixture);
    read = hoop_recording_calls(recording, &n_calls);
    assert_int_equal(read->waiting_since_ns, 0);
    assert_int_equal(read->waiting_for, HOOP_NO_RANK);
    assert_int_equal(read->waited_for, 7);
    assert_int_equal(read->state, HOOP_RECORDED_FAILED);
    hoop_recording_destroy(recording);
    recorder_fixture_close(&fixture);
}

struct writer {
    struct recorder *recorder;
    uint64_t first;
    uint64_t n;
};

static void *
writer_run(void *owner)
{
    const struct writer *writer = owner;

    for (uint64_t i = 0; i < writer->n; i++)
        call_make(writer->recorder, writer->first + i);
    return NULL;
}

/* Every record that a reader finds is of one call, also while threads write;
 * in the end each thread's last calls are there, in the order in which it made
 * them. */
static void
threads_write_while_a_reader_reads_whole_records(void **state)
{
    struct recorder_fixture fixture;
    struct writer writers[THREADS];
    pthread_t threads[THREADS];
    size_t n_calls;

    (void)state;
    recorder_fixture_open(&fixture);
    for (size_t i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){fixture.recorder, 1 + i * THREAD_CALLS,
                                     THREAD_CALLS};
        assert_int_equal(
            pthread_create(&threads[i], NULL, writer_run, &writers[i]), 0);
    }
    for (int i = 0; i < READS; i++) {
        hoop_recording_t *recording = fixture_read(&fixture);
        const struct hoop_recorded_call *calls =
            hoop_recording_calls(recording, &n_calls);

        for (size_t call = 0; call < n_calls; call++)
            assert_is_call(&calls[call]);
        hoop_recording_destroy(recording);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);

    hoop_recording_t *recording = fixture_read(&fixture);
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(recording, &n_calls);
    uint64_t last[THREADS] = {0};
    assert_int_equal(n_calls, LIMIT_RECORDER_CALLS);
    for (size_t i = 0; i < n_calls; i++) {
        uint64_t *number = &last[(calls[i].wire_number - 1) / THREAD_CALLS];

        assert_is_call(&calls[i]);
        assert_true(calls[i].state >= HOOP_RECORDED_DONE);
        assert_true(calls[i].wire_number > *number);
        *number = calls[i].wire_number;
    }
    hoop_recording_destroy(recording);
    recorder_fixture_close(&fixture);
}

/* TSan's own instructions between two of them would take minutes. */
#ifndef __SANITIZE_THREAD__
/* The child makes a call with every kind of change, one instruction after the
 * other. */
static void
child_call_in_steps(struct recorder *recorder)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    call_make(recorder, 6);
    call_make(recorder, 16);
    _exit(0);
}

/* What is not marked as partial is whole; what is partial has its beginning. A
 * call that was there stays there. Returns how many calls there are. */
static size_t
assert_all_are_whole(const struct recorder_fixture *fixture, size_t n_before)
{
    hoop_recording_t *recording = fixture_read(fixture);
    size_t n_calls;
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(recording, &n_calls);

    assert_true(n_calls >= n_before);
    for (size_t i = 0; i < n_calls; i++) {
        assert_int_equal(calls[i].wire_number, i == 0 ? 6 : 16);
        assert_is_call(&calls[i]);
    }
    hoop_recording_destroy(recording);
    return n_calls;
}

/* As if the writer were killed between any two instructions. */
static void
record_is_whole_after_each_instruction(void **state)
{
    struct recorder_slot last[2] = {{.word = 0}};
    struct recorder_fixture fixture;
    size_t n_calls = 0;
    unsigned n_changes = 0;
    int status;

    (void)state;
    recorder_fixture_open(&fixture);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        child_call_in_steps(fixture.recorder);
    assert_int_equal(waitpid(child, &status, 0), child);
    while (WIFSTOPPED(status)) {
        const void *slots = fixture.recorder->memory->slots;

        if (memcmp(last, slots, sizeof(last)) != 0) {
            memcpy(last, slots, sizeof(last));
            n_calls = assert_all_are_whole(&fixture, n_calls);
            n_changes++;
        }
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(n_calls, 2);
    assert_true(n_changes > 20);
    recorder_fixture_close(&fixture);
}
#endif

/* What a killed process has told the test that it had called and ended. */
struct progress {
    _Atomic uint64_t n_called;
    _Atomic uint64_t n_ended;
};

static void
child_call_for_ever(struct recorder *recorder, struct progress *progress)
{
    for (uint64_t number = 1;; number++) {
        const struct recorder_call call = call_of_number(number);
        const struct recorder_end end = end_of_number(number);
        struct recorder_slot *slot = recorder_called(recorder, &call);

        atomic_store(&progress->n_called, number);
        recorder_begun(recorder, slot);
        recorder_ended(recorder, slot, &end);
        atomic_store(&progress->n_ended, number);
    }
}

/* SIGKILL comes at a random moment: everything that had been recorded before
 * is there, and only the call under way can be half changed. */
static void
killed_process_leaves_a_whole_record(void **state)
{
    uint64_t seed = number_from_environment("RECORDER_SEED", 1);

    (void)state;
    for (int round = 0; round < 25; round++) {
        struct progress *progress =
            mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        struct recorder_fixture fixture;
        size_t n_calls;

        assert_true(progress != MAP_FAILED);
        recorder_fixture_open(&fixture);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            child_call_for_ever(fixture.recorder, progress);
        while (atomic_load(&progress->n_ended) < 1 + random_below(&seed, 20000))
            sched_yield();
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);

        const uint64_t n_called = atomic_load(&progress->n_called);
        const uint64_t n_ended = atomic_load(&progress->n_ended);
        hoop_recording_t *recording = fixture_read(&fixture);
        const struct hoop_recorded_call *calls =
            hoop_recording_calls(recording, &n_calls);
        const uint64_t last = calls[n_calls - 1].wire_number;
        assert_true(last == n_called || last == n_called + 1);
        for (size_t i = 0; i < n_calls; i++) {
            assert_int_equal(calls[i].wire_number, last - n_calls + 1 + i);
            if (calls[i].wire_number <= n_ended)
                assert_true(calls[i].state >= HOOP_RECORDED_DONE);
            assert_is_call(&calls[i]);
        }
        hoop_recording_destroy(recording);
        recorder_fixture_close(&fixture);
        munmap(progress, sizeof(*progress));
    }
}

static void
communicators_say_their_members_and_names(void **state)
{
    const uint32_t part[] = {6, 3, 0};
    const uint32_t all[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct recorder_fixture fixture;
    size_t n_comms;

    (void)state;
    recorder_fixture_open(&fixture);
    recorder_comm_opened(fixture.recorder,
                         &(struct recorder_comm_options){1, 3, 8, all});
    recorder_comm_opened(fixture.recorder,
                         &(struct recorder_comm_options){9, 1, 3, part});
    recorder_comm_named(fixture.recorder, 9, "part");
    recorder_comm_formed(fixture.recorder, 9, 4);
    recorder_comm_closed(fixture.recorder, 1);
    struct recorder_call call = {.comm = 9, .number = 6, .kind = 1};
    (void)recorder_called(fixture.recorder, &call);
    call.number = 4;
    (void)recorder_called(fixture.recorder, &call);

    hoop_recording_t *recording = fixture_read(&fixture);
    const struct hoop_recorded_comm *comms =
        hoop_recording_comms(recording, &n_comms);
    assert_int_equal(n_comms, 2);
    assert_int_equal(comms[0].id, 1);
    assert_false(comms[0].is_open);
    assert_memory_equal(comms[0].ranks, all, sizeof(all));
    assert_int_equal(comms[1].id, 9);
    assert_int_equal(comms[1].rank, 1);
    assert_string_equal(comms[1].name, "part");
    assert_true(comms[1].is_open);
    assert_memory_equal(comms[1].ranks, part, sizeof(part));
    size_t n_calls;
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(recording, &n_calls);
    assert_int_equal(calls[0].number, 2);
    assert_int_equal(calls[1].number, 0);
    hoop_recording_destroy(recording);
    recorder_fixture_close(&fixture);
}

/* Entries of closed communicators are used again; members that were written
 * over are said to be unknown. */
static void
many_communicators_take_the_place_of_closed_ones(void **state)
{
    const uint32_t part[] = {7, 6, 5, 4, 3};
    struct recorder_fixture fixture;
    size_t n_comms;
    bool has_known = false;

    (void)state;
    recorder_fixture_open(&fixture);
    recorder_comm_opened(fixture.recorder,
                         &(struct recorder_comm_options){1, 3, 5, part});
    for (uint64_t id = 2; id < 20000; id++) {
        recorder_comm_opened(fixture.recorder,
                             &(struct recorder_comm_options){id, 3, 5, part});
        recorder_comm_closed(fixture.recorder, id);
    }
    hoop_recording_t *recording = fixture_read(&fixture);
    const struct hoop_recorded_comm *comms =
        hoop_recording_comms(recording, &n_comms);
    assert_int_equal(n_comms, LIMIT_RECORDER_COMMS);
    assert_int_equal(comms[0].id, 1);
    assert_true(comms[0].is_open);
    assert_null(comms[0].ranks);
    for (size_t i = 0; i < n_comms; i++) {
        if (comms[i].id == 19999) {
            has_known = true;
            assert_memory_equal(comms[i].ranks, part, sizeof(part));
        }
    }
    assert_true(has_known);
    hoop_recording_destroy(recording);
    recorder_fixture_close(&fixture);
}

static void
file_is_private_and_follows_no_link(void **state)
{
    struct recorder_fixture fixture;
    struct recorder *second = NULL;
    char target[TEMPORARY_FILE];
    char previous[TEMPORARY_FILE];
    struct stat file;

    (void)state;
    recorder_fixture_open(&fixture);
    assert_int_equal(stat(fixture.path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_true(file.st_size <= LIMIT_RECORDER_BYTES);
    snprintf(previous, sizeof(previous), "%s/job.3.previous.hoopr",
             fixture.folder);
    snprintf(target, sizeof(target), "%s/target", fixture.folder);
    assert_int_equal(unlink(fixture.path), 0);
    assert_int_equal(symlink(target, fixture.path), 0);
    const struct recorder_options options = {.folder = fixture.folder,
                                             .job = "job",
                                             .host = "host",
                                             .rank = 3,
                                             .size = 8};
    assert_ok(recorder_create(&options, &second));
    assert_int_equal(access(target, F_OK), -1);
    assert_int_equal(lstat(fixture.path, &file), 0);
    assert_true(S_ISREG(file.st_mode));
    assert_int_equal(lstat(previous, &file), 0);
    assert_true(S_ISLNK(file.st_mode));
    recorder_destroy(second);
    recorder_fixture_close(&fixture);
}

static void
earlier_file_of_that_name_is_kept_once(void **state)
{
    struct recorder_fixture fixture;
    char previous[TEMPORARY_FILE];
    hoop_recording_t *recording = NULL;

    (void)state;
    recorder_fixture_open(&fixture);
    snprintf(previous, sizeof(previous), "%s/job.3.previous.hoopr",
             fixture.folder);
    for (uint64_t epoch = 8; epoch < 11; epoch++) {
        struct recorder *next = NULL;

        assert_ok(
            recorder_create(&(struct recorder_options){.folder = fixture.folder,
                                                       .job = "job",
                                                       .host = "host",
                                                       .epoch = epoch,
                                                       .rank = 3,
                                                       .size = 8},
                            &next));
        recorder_destroy(next);
        assert_ok(hoop_recording_read(previous, &recording));
        assert_int_equal(hoop_recording_origin(recording)->epoch, epoch - 1);
        hoop_recording_destroy(recording);
    }
    recorder_fixture_close(&fixture);
}

static void
name_of_a_job_is_no_path(void **state)
{
    struct recorder_fixture fixture;
    struct recorder *other = NULL;
    char path[TEMPORARY_FILE];

    (void)state;
    recorder_fixture_open(&fixture);
    assert_ok(
        recorder_create(&(struct recorder_options){.folder = fixture.folder,
                                                   .job = "../up",
                                                   .host = "host",
                                                   .size = 1},
                        &other));
    snprintf(path, sizeof(path), "%s/_._up.0.hoopr", fixture.folder);
    assert_int_equal(access(path, R_OK), 0);
    recorder_destroy(other);
    recorder_fixture_close(&fixture);
}

static void
folder_that_cannot_be_used_is_named(void **state)
{
    struct recorder *recorder = NULL;

    (void)state;
    assert_int_equal(
        recorder_create(&(struct recorder_options){.folder = "/proc/none",
                                                   .job = "job",
                                                   .host = "host",
                                                   .size = 1},
                        &recorder),
        HOOP_E_UNAVAILABLE);
    assert_non_null(strstr(error_text(), "/proc/none"));
    assert_non_null(strstr(error_text(), "HOOP_RECORDER_DIR"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorder_records_all_that_a_call_is),
        cmocka_unit_test(ring_that_wrapped_keeps_the_last_calls_in_order),
        cmocka_unit_test(call_that_hangs_is_not_written_over),
        cmocka_unit_test(calls_that_find_no_room_are_counted),
        cmocka_unit_test(clocks_are_compared_once_in_a_second_of_waiting),
        cmocka_unit_test(longest_wait_is_kept_and_the_one_under_way_is_shown),
        cmocka_unit_test(threads_write_while_a_reader_reads_whole_records),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(record_is_whole_after_each_instruction),
#endif
        cmocka_unit_test(killed_process_leaves_a_whole_record),
        cmocka_unit_test(communicators_say_their_members_and_names),
        cmocka_unit_test(many_communicators_take_the_place_of_closed_ones),
        cmocka_unit_test(file_is_private_and_follows_no_link),
        cmocka_unit_test(earlier_file_of_that_name_is_kept_once),
        cmocka_unit_test(name_of_a_job_is_no_path),
        cmocka_unit_test(folder_that_cannot_be_used_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
