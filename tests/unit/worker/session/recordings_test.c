/* tests/unit/worker/session/recordings_test.c - what a rank passes on of the
 * recordings of its host */

#include "unit/worker/recorder/recorder_fixture.h"
/* after cmocka */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "recorder/recording.h"
#include "session/recordings.h"
#include "wire/pack.h"

/* A rank that asks itself nothing: the records are of rank 3 of another
 * process's recorder. */
struct bench {
    struct recorder_fixture fixture;
    struct roster roster;
    struct config config;
    struct recordings recordings;
    uint64_t query;
};

static void
bench_open(struct bench *bench, const char *folder)
{
    recorder_fixture_open(&bench->fixture);
    bench->roster = (struct roster){
        .job = "job",
        .seed = 77,
        .rank = 2,
        .size = 8,
    };
    bench->query = 0;
    bench->config = (struct config){.recorder = {.folder = ""}};
    snprintf(bench->config.recorder.folder,
             sizeof(bench->config.recorder.folder), "%s",
             folder ? folder : bench->fixture.folder);
    recordings_open(&bench->recordings, &bench->config, &bench->roster);
}

static void
bench_close(struct bench *bench)
{
    recordings_close(&bench->recordings);
    recorder_fixture_close(&bench->fixture);
}

/* Asks for the recording of a rank. The caller frees *out_body, into which the
 * answer points. */
static struct recording_answer
ask(struct bench *bench, uint32_t rank, uint8_t **out_body)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct recording_answer answer;
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_BODY);
    const struct member_request self = {5, 6};
    const struct watch_reply reply = {
        .recording_query = ++bench->query,
        .recording_rank = rank,
    };
    assert_true(recordings_answer(&bench->recordings, &self, &reply, &pack));
    /* The same question is answered once. */
    assert_false(recordings_answer(&bench->recordings, &self, &reply, &pack));
    assert_ok(pack_take(&pack, out_body, &n_bytes));
    assert_ok(recording_answer_decode((struct message_span){*out_body, n_bytes},
                                      &answer));
    assert_int_equal(answer.member.epoch, 5);
    assert_int_equal(answer.member.incarnation, 6);
    assert_int_equal(answer.query, bench->query);
    assert_true((answer.memory.n_bytes > 0) == (answer.why[0] == '\0'));
    return answer;
}

static void
assert_has_none(struct bench *bench, uint32_t rank, const char *why)
{
    CLEANUP(free) uint8_t *body = NULL;
    const struct recording_answer answer = ask(bench, rank, &body);

    if (!strstr(answer.why, why))
        print_error("it is said: %s\n", answer.why);
    assert_non_null(strstr(answer.why, why));
}

/* Parses what is passed on of rank 3, and checks that it has one call. */
static void
assert_has_call(struct bench *bench, uint64_t number)
{
    CLEANUP(free) uint8_t *body = NULL;
    CLEANUP(free) struct recorder_memory *memory = NULL;
    const struct recording_answer answer = ask(bench, 3, &body);
    hoop_recording_t *recording = NULL;
    size_t n_calls = 0;

    assert_int_equal(answer.memory.n_bytes, sizeof(*memory));
    memory = aligned_alloc(_Alignof(struct recorder_memory), sizeof(*memory));
    memcpy(memory, answer.memory.bytes, sizeof(*memory));
    assert_ok(
        recording_parse((const uint8_t *)memory, sizeof(*memory), &recording));
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(recording, &n_calls);
    assert_int_equal(hoop_recording_origin(recording)->rank, 3);
    assert_int_equal(n_calls, 1);
    assert_int_equal(calls[0].wire_number, number);
    assert_is_call(&calls[0]);
    hoop_recording_destroy(recording);
}

static void
recording_of_another_rank_of_the_folder_is_passed_on(void **state)
{
    struct bench bench;

    bench_open(&bench, NULL);
    call_make(bench.fixture.recorder, 41);
    assert_has_call(&bench, 41);
    bench_close(&bench);
}

/* A program may change its folder after it has joined. */
static void
folder_is_found_after_the_program_has_gone_elsewhere(void **state)
{
    char before[TEMPORARY_PATH * 4];
    struct bench bench;

    assert_non_null(getcwd(before, sizeof(before)));
    bench_open(&bench, NULL);
    recordings_close(&bench.recordings);
    assert_int_equal(chdir(bench.fixture.folder), 0);
    snprintf(bench.config.recorder.folder, sizeof(bench.config.recorder.folder),
             ".");
    recordings_open(&bench.recordings, &bench.config, &bench.roster);
    assert_int_equal(chdir(before), 0);
    call_make(bench.fixture.recorder, 43);
    assert_has_call(&bench, 43);
    bench_close(&bench);
}

static void
what_is_not_this_run_s_is_not_passed_on(void **state)
{
    char path[TEMPORARY_FILE];
    struct bench bench;

    bench_open(&bench, NULL);
    bench.roster.seed = 78;
    assert_has_none(&bench, 3, "of rank 3 is of another run");
    bench.roster.seed = 77;
    /* Another rank's record under this name, and what is none. */
    snprintf(path, sizeof(path), "%s/job.4.hoopr", bench.fixture.folder);
    assert_int_equal(link(bench.fixture.path, path), 0);
    assert_has_none(&bench, 4, "of rank 4 is of another run");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(bench.fixture.path, path), 0);
    assert_has_none(&bench, 4, "'job.4.hoopr' cannot be opened");
    assert_int_equal(unlink(path), 0);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("no record", file);
    fclose(file);
    assert_has_none(&bench, 4, "this is not a record of hoop");
    bench_close(&bench);
}

static void
rank_without_a_record_is_told_as_such(void **state)
{
    struct bench bench;

    bench_open(&bench, NULL);
    assert_has_none(&bench, 7, "'job.7.hoopr' cannot be opened");
    bench_close(&bench);
    bench_open(&bench, "");
    assert_has_none(&bench, 3, "it records nothing");
    bench_close(&bench);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recording_of_another_rank_of_the_folder_is_passed_on),
        cmocka_unit_test(folder_is_found_after_the_program_has_gone_elsewhere),
        cmocka_unit_test(what_is_not_this_run_s_is_not_passed_on),
        cmocka_unit_test(rank_without_a_record_is_told_as_such),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
