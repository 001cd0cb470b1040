/*
 * tests/fault/ranks/mismatch_matrix_test.c - pairs of differing calls
 *
 * One rank of two, three or four calls another collective than the others, or
 * the same one with another dtype, count, root or reduce operator, or makes two
 * calls in another order. Each rank gets the error exactly once: from the call
 * itself or, if that had returned, from one of two barriers. The text names
 * both calls and both ranks. A buffer gets no byte of another call, and no byte
 * at all if the calls are checked first. After that the communicator still
 * works.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "check.h"
#include "child.h"
#include "default_config.h"
#include "fault/ranks/mismatch_calls.h"
#include "ranks.h"
#include "select/tuner.h"
#include "session/comm.h"

enum {
    SMALL = 8,
    LARGE = 1 << 20,
    /* A block may grow by one element. */
    SLACK = 4096,
    STRETCH = 256,
    CALLS_MAX = 2,
    /* The first calls of the pairs are divided into slices. Each has a world of
     * its own. */
    SLICES = 5,
    /* After these calls every rank has had the error. */
    BARRIERS = 2,
};

/* Of the pairs of collectives, one in EVERY is tested. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const size_t EVERY = 9;
#else
static const size_t EVERY = 1;
#endif

/* The buffers of most ranks have MANY in each byte, and those of the rank that
 * differs have ODD. Receive buffers begin with UNTOUCHED. Sums of MANY are less
 * than the other two. */
static const uint8_t MANY = 0x01;
static const uint8_t ODD = 0x60;
static const uint8_t UNTOUCHED = 0xee;

/* This is far below an operation's deadline of 20 s, but leaves sanitizers
 * enough time. */
static const uint64_t TOLD_AFTER_NS = 10000000000;

enum way {
    WAY_OPERATION,
    WAY_DTYPE,
    WAY_COUNT,
    WAY_COUNTS, /* which have the same sum */
    WAY_ROOT,
    WAY_OP,
    WAY_ORDER,
    WAYS,
};

static const char *const way_names[WAYS] = {
    "operation", "dtype", "count", "counts", "root", "op", "order",
};

struct matrix_case {
    enum way way;
    const struct matrix_call *many; /* the call of all ranks but one */
    const struct matrix_call *odd;
    uint32_t odd_rank;
    size_t n_bytes;
};

/* This is a call with its arguments. */
struct calling {
    const struct matrix_call *call;
    struct matrix_args args;
    size_t counts[MATRIX_RANKS];
    char phrase[64]; /* the words that show it in an error text */
};

static void
calling_fill(struct calling *calling,
             const struct matrix_call *call,
             const struct rank *rank,
             size_t n_bytes)
{
    const size_t n_elements = n_bytes / sizeof(int32_t);
    const size_t n_block =
        n_elements < rank->size ? 1 : n_elements / rank->size;

    *calling = (struct calling){
        .call = call,
        .args = {.count = call->parts & MATRIX_IN_BLOCKS ? n_block : n_elements,
                 .dtype = HOOP_INT32,
                 .op = HOOP_SUM,
                 .comm = rank->comm},
    };
    for (uint32_t i = 0; i < rank->size; i++)
        calling->counts[i] = n_block;
    snprintf(calling->phrase, sizeof(calling->phrase), "called %s #",
             call->name);
}

static void
calling_name_count(struct calling *calling, uint32_t size)
{
    size_t count = calling->args.count;

    if (calling->call->parts & MATRIX_HAS_COUNTS) {
        count = 0;
        for (uint32_t i = 0; i < size; i++)
            count += calling->counts[i];
    }
    snprintf(calling->phrase, sizeof(calling->phrase), "%zu elements", count);
}

/* Makes one rank's call differ, and sets the words for both calls in an error
 * text. */
static void
differ(struct calling *many, struct calling *odd, enum way way, uint32_t size)
{
    switch (way) {
    case WAY_DTYPE:
        odd->args.dtype = HOOP_UINT32;
        snprintf(many->phrase, sizeof(many->phrase), "(int32");
        snprintf(odd->phrase, sizeof(odd->phrase), "(uint32");
        return;
    case WAY_COUNT:
        odd->args.count++;
        odd->counts[0]++;
        calling_name_count(many, size);
        calling_name_count(odd, size);
        return;
    case WAY_COUNTS:
        odd->counts[0]--;
        odd->counts[1]++;
        snprintf(odd->phrase, sizeof(odd->phrase), "other counts");
        return;
    case WAY_ROOT:
        odd->args.root = 1;
        snprintf(many->phrase, sizeof(many->phrase), "root 0");
        snprintf(odd->phrase, sizeof(odd->phrase), "root 1");
        return;
    case WAY_OP:
        odd->args.op = HOOP_MAX;
        snprintf(many->phrase, sizeof(many->phrase), ", sum");
        snprintf(odd->phrase, sizeof(odd->phrase), ", max");
        return;
    case WAY_OPERATION:
    case WAY_ORDER:
    case WAYS:
        return;
    }
}

static bool
has_way(const struct matrix_call *call, enum way way)
{
    static const unsigned needed[WAYS] = {
        [WAY_DTYPE] = MATRIX_HAS_DTYPE,   [WAY_COUNT] = MATRIX_HAS_COUNT,
        [WAY_COUNTS] = MATRIX_HAS_COUNTS, [WAY_ROOT] = MATRIX_HAS_ROOT,
        [WAY_OP] = MATRIX_HAS_OP,
    };

    return call->parts & needed[way];
}

struct told {
    unsigned n_times;
    char text[1024];
};

struct scene {
    struct rank *rank;
    const struct matrix_case *at;
    struct calling calls[CALLS_MAX]; /* the calls of most ranks */
    struct calling odd[CALLS_MAX];
    unsigned n_calls;
    uint8_t *send;
    uint8_t *recv;
    bool is_odd_one;
    bool is_checked;
    uint32_t n_large;
    struct told told;
};

static int
scene_report(const struct scene *scene, const char *what)
{
    const struct matrix_case *at = scene->at;

    fprintf(stderr,
            "rank %u of %u: %s differs, %s, rank %u %s, %zu bytes%s: %s; "
            "text: %s; last: %s\n",
            scene->rank->rank, scene->rank->size, way_names[at->way],
            at->many->name, at->odd_rank, at->odd->name, at->n_bytes,
            scene->is_checked ? ", checked" : "", what, scene->told.text,
            hoop_error_text());
    return 1;
}

static bool
text_names(const struct scene *scene, uint32_t culprit)
{
    char name[64];

    snprintf(name, sizeof(name), "rank %u (host:%d)", culprit,
             (int)scene->rank->pids[culprit]);
    return strstr(scene->told.text, name) != NULL;
}

/* The text must name both calls, the rank that differs, and another rank. */
static bool
text_is_right(const struct scene *scene)
{
    bool names_another = false;

    for (uint32_t i = 0; i < scene->rank->size; i++)
        names_another |= i != scene->at->odd_rank && text_names(scene, i);
    return names_another && text_names(scene, scene->at->odd_rank) &&
           strstr(scene->told.text, scene->calls[0].phrase) &&
           strstr(scene->told.text, scene->odd[0].phrase);
}

static int
take_status(struct scene *scene, enum hoop_status status)
{
    if (status == HOOP_OK)
        return 0;
    if (status != HOOP_E_MISMATCH)
        return scene_report(scene, "not a mismatch");
    if (scene->told.n_times++ == 0)
        snprintf(scene->told.text, sizeof(scene->told.text), "%s",
                 hoop_error_text());
    return 0;
}

/* Only bytes of the rank's own call may be written, and none if calls are
 * checked first. The loop skips a stretch of equal bytes at once. */
static bool
is_clean(const struct scene *scene)
{
    const uint8_t own = scene->is_odd_one ? ODD : MANY;
    const uint8_t most = scene->is_odd_one ? ODD : (uint8_t)scene->rank->size;
    const uint8_t *at = scene->recv;
    const uint8_t *end = at + scene->at->n_bytes + SLACK;

    while (at < end && (*at == UNTOUCHED ||
                        (!scene->is_checked && *at >= own && *at <= most)))
        at += end - at > STRETCH && memcmp(at, at + 1, STRETCH) == 0 ? STRETCH
                                                                     : 1;
    return at == end;
}

static int
make_calls(struct scene *scene)
{
    const uint64_t begin_ns = clock_now_ns();

    for (unsigned i = 0; i < scene->n_calls; i++) {
        struct calling *calling =
            scene->is_odd_one ? &scene->odd[i] : &scene->calls[i];

        calling->args.send = scene->send;
        calling->args.recv = scene->recv;
        calling->args.counts = calling->counts;
        if (take_status(scene, calling->call->run(&calling->args)) != 0)
            return 1;
        if (scene->is_checked && scene->told.n_times != i + 1)
            return scene_report(scene, "not told at once");
    }
    for (unsigned i = 0; i < BARRIERS; i++) {
        if (take_status(scene, hoop_barrier(scene->rank->comm)) != 0)
            return 1;
    }
    if (clock_now_ns() - begin_ns > TOLD_AFTER_NS)
        return scene_report(scene, "told too late");
    return 0;
}

static int
play(struct scene *scene)
{
    const struct matrix_case *at = scene->at;

    scene->told.n_times = 0;
    scene->told.text[0] = '\0';
    scene->is_odd_one = scene->rank->rank == at->odd_rank;
    scene->n_calls = at->way == WAY_ORDER ? 2 : 1;
    calling_fill(&scene->calls[0], at->many, scene->rank, at->n_bytes);
    calling_fill(&scene->calls[1], at->odd, scene->rank, at->n_bytes);
    scene->odd[0] = scene->calls[1];
    scene->odd[1] = scene->calls[0];
    differ(&scene->calls[0], &scene->odd[0], at->way, scene->rank->size);
    memset(scene->send, scene->is_odd_one ? ODD : MANY, at->n_bytes + SLACK);
    memset(scene->recv, UNTOUCHED, at->n_bytes + SLACK);

    if (make_calls(scene) != 0)
        return 1;
    /* Two calls in another order differ twice, but a rank that ran ahead gets
     * one error. */
    if (scene->told.n_times == 0 || scene->told.n_times > scene->n_calls)
        return scene_report(scene, "not told once");
    if (!text_is_right(scene))
        return scene_report(scene, "the text does not name both");
    if (!is_clean(scene))
        return scene_report(scene, "its buffer has been written");
    return 0;
}

static int
play_one(struct scene *scene,
         struct matrix_case *at,
         size_t n_bytes,
         uint32_t odd_rank)
{
    at->n_bytes = n_bytes;
    at->odd_rank = odd_rank;
    scene->at = at;
    return play(scene);
}

/* Plays the case with small buffers for each rank that may differ, and with
 * large buffers for one rank in turn. */
static int
play_everywhere(struct scene *scene, struct matrix_case *at)
{
    const uint32_t size = scene->rank->size;

    for (uint32_t odd = 0; odd < size; odd++) {
        if (play_one(scene, at, SMALL, odd) != 0)
            return 1;
    }
    return play_one(scene, at, LARGE, scene->n_large++ % size);
}

static int
play_slice(struct scene *scene, size_t first)
{
    struct matrix_case at;

    for (size_t i = first; i < n_matrix_calls; i += SLICES) {
        at.many = &matrix_calls[i];
        for (size_t j = 0; j < n_matrix_calls; j++) {
            at.odd = &matrix_calls[j];
            at.way = WAY_OPERATION;
            if (i != j && (i + j) % EVERY == 0 &&
                play_everywhere(scene, &at) != 0)
                return 1;
        }
        at.odd = &matrix_calls[(i + 1) % n_matrix_calls];
        at.way = WAY_ORDER;
        if (play_everywhere(scene, &at) != 0)
            return 1;
        at.odd = at.many;
        for (at.way = WAY_DTYPE; at.way <= WAY_OP; at.way++) {
            if (has_way(at.many, at.way) && play_everywhere(scene, &at) != 0)
                return 1;
        }
    }
    return 0;
}

struct slice {
    bool is_checked;
    size_t first;
    const char *algorithms; /* NULL: the first algorithm of each collective */
};

/* In rings and chains ranks wait for their neighbours. In trees and exchanges
 * some ranks get no message from the rank that differs. */
static const char trees[] =
    "reduce:binomial,broadcast:binomial,gather:binomial,scatter:binomial,"
    "allreduce:recursive_doubling,allgather:bruck,reduce_scatter:pairwise,"
    "alltoall:bruck,scan:doubling,exscan:doubling";

static int
slice_play(struct rank *rank)
{
    const struct slice *slice = rank->input;
    struct scene scene = {
        .rank = rank,
        .is_checked = slice->is_checked,
        .send = malloc(LARGE + SLACK),
        .recv = malloc(LARGE + SLACK),
    };

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    const int result = play_slice(&scene, slice->first);
    free(scene.send);
    free(scene.recv);
    return result;
}

static int
matrix_body(struct rank *rank)
{
    const struct slice *slice = rank->input;
    struct tuner *tuner = NULL;
    struct roster *roster = NULL;
    struct config config;

    if (!slice->algorithms)
        return slice_play(rank);
    RANK_CHECK(roster_create(rank->size, &roster) == HOOP_OK);
    roster->rank = rank->rank;
    for (uint32_t i = 0; i < rank->size; i++)
        snprintf(roster->members[i].host_id, LIMIT_NAME, "node");
    default_config_init(&config);
    snprintf(config.algorithms, sizeof(config.algorithms), "%s",
             slice->algorithms);
    snprintf(config.link, sizeof(config.link), "latency=20us");
    RANK_CHECK(tuner_create(roster, &config, &tuner) == HOOP_OK);
    tuning_destroy(rank->comm->tuning);
    RANK_CHECK(tuning_agree(tuner, rank->comm->context,
                            clock_deadline_ns(20000),
                            &rank->comm->tuning) == HOOP_OK);
    const int result = slice_play(rank);
    tuning_destroy(rank->comm->tuning);
    rank->comm->tuning = NULL;
    tuner_destroy(tuner);
    roster_destroy(roster);
    return result;
}

/* Runs a slice in a process of its own and returns its PID. */
static pid_t
slice_start(const struct slice *slice, uint32_t size)
{
    fflush(NULL);
    const pid_t pid = child_fork();

    if (pid != 0)
        return pid;
    exit(ranks_run(&(struct ranks_options){
             .size = size,
             .body = matrix_body,
             .input = slice,
             .is_checked = slice->is_checked,
         }) != 0);
}

/* Runs many slices at a time. If all ranks only wait, a case takes as long as
 * they wait before they ask each other. */
static void
run_matrix(const struct slice *kind, uint32_t smallest)
{
    pid_t pids[MATRIX_RANKS + 1][SLICES];
    int how;

    for (uint32_t size = smallest; size <= MATRIX_RANKS; size++) {
        for (size_t i = 0; i < SLICES; i++) {
            struct slice slice = *kind;

            slice.first = i;
            pids[size][i] = slice_start(&slice, size);
        }
    }
    for (uint32_t size = smallest; size <= MATRIX_RANKS; size++) {
        for (size_t i = 0; i < SLICES; i++) {
            assert_int_equal(waitpid(pids[size][i], &how, 0), pids[size][i]);
            assert_int_equal(how, 0);
        }
    }
}

static void
differing_calls_are_told_to_every_rank(void **state)
{
    run_matrix(&(struct slice){0}, 2);
}

static void
differing_calls_of_trees_are_told_to_every_rank(void **state)
{
    /* With fewer ranks trees are stars. */
    run_matrix(&(struct slice){.algorithms = trees}, 4);
}

static void
calls_that_are_checked_first_touch_nothing(void **state)
{
    run_matrix(&(struct slice){.is_checked = true}, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differing_calls_are_told_to_every_rank),
        cmocka_unit_test(differing_calls_of_trees_are_told_to_every_rank),
        cmocka_unit_test(calls_that_are_checked_first_touch_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
