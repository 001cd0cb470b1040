/* tests/integration/recovery/retry_test.c - calls that succeed although ranks
 * die */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "check.h"
#include "fault/fault.h"
#include "integration/daemon.h"
#include "pseudo_random.h"

/*
 * The workers make calls, and some of them die.
 *
 * All workers make the same calls, and HOOP_DEBUG_FAULT kills some of them at
 * chosen places. Each worker knows what a result must be from the inputs of the
 * ranks that the call names as contributors. It writes a digest of both where
 * all workers can see it. All digests of a call must be the same, also those of
 * ranks that died later.
 */

struct retry_scene {
    uint32_t n_workers;
    const char *faults; /* HOOP_DEBUG_FAULT */
};

enum {
    COUNT = 1500,
    KINDS = 6,
    CALLS = 4 * KINDS,
};

/* Shared by all workers. A digest is 0 until the call has returned. */
struct table {
    uint64_t digests[WORKERS_MAX][CALLS];
};

static const struct retry_scene *scene;
static struct table *table;

/* What a worker needs during the calls. */
struct player {
    const struct worker *worker;
    hoop_comm_t *comm;
    unsigned call;
    uint32_t ranks[WORKERS_MAX]; /* the contributors */
    uint32_t n_ranks;
    int64_t send[WORKERS_MAX * COUNT];
    int64_t recv[WORKERS_MAX * COUNT];
};

static int64_t
value_of(uint32_t world_rank, unsigned call, size_t at)
{
    return (int64_t)(world_rank + 1) * 1000003 + (int64_t)(call * 7919 + at);
}

/* The sum of these numbers is not exact, so that the order of additions
 * shows. */
static float
part_of(uint32_t world_rank, unsigned call, size_t at)
{
    return 1.0F / (float)(at + 3 * world_rank + 11 * call + 1);
}

static int64_t
sum_of(const struct player *player, size_t at)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < player->n_ranks; i++)
        sum += value_of(player->ranks[i], player->call, at);
    return sum;
}

static void
send_fill(struct player *player, size_t n_values)
{
    for (size_t i = 0; i < n_values; i++)
        player->send[i] = value_of(player->worker->index, player->call, i);
}

/* Checks that the contributors are in order, and that this rank is one of
 * them. */
static int
contributors_take(struct player *player)
{
    bool is_there = false;

    WORKER_CHECK(hoop_comm_contributors(player->comm, player->ranks,
                                        WORKERS_MAX,
                                        &player->n_ranks) == HOOP_OK);
    for (uint32_t i = 0; i < player->n_ranks; i++) {
        is_there |= player->ranks[i] == player->worker->index;
        WORKER_CHECK(i == 0 || player->ranks[i - 1] < player->ranks[i]);
    }
    WORKER_CHECK(is_there);
    WORKER_CHECK(player->n_ranks >= hoop_comm_size(player->comm));
    return 0;
}

/* Writes the digest of what all ranks must have in common. */
static void
digest_tell(struct player *player,
            enum hoop_status status,
            const void *result,
            size_t n_bytes)
{
    uint64_t digest = digest_bytes(result, n_bytes) + (uint64_t)status;

    for (uint32_t i = 0; status == HOOP_OK && i < player->n_ranks; i++)
        digest = digest * 31 + player->ranks[i] + 1;
    __atomic_store_n(&table->digests[player->worker->index][player->call],
                     digest | 1, __ATOMIC_RELEASE);
}

static int
allreduce_in_place(struct player *player)
{
    send_fill(player, COUNT);
    WORKER_CHECK(hoop_allreduce(player->send, HOOP_IN_PLACE, COUNT, HOOP_INT64,
                                HOOP_SUM, player->comm) == HOOP_OK);
    WORKER_CHECK(contributors_take(player) == 0);
    for (size_t i = 0; i < COUNT; i++)
        WORKER_CHECK(player->send[i] == sum_of(player, i));
    digest_tell(player, HOOP_OK, player->send, COUNT * sizeof(int64_t));
    return 0;
}

static int
allreduce_apart(struct player *player)
{
    float send[COUNT];
    float recv[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        send[i] = part_of(player->worker->index, player->call, i);
    WORKER_CHECK(hoop_allreduce(send, recv, COUNT, HOOP_FLOAT32, HOOP_SUM,
                                player->comm) == HOOP_OK);
    WORKER_CHECK(contributors_take(player) == 0);
    for (size_t i = 0; i < COUNT; i++) {
        float sum = 0;

        for (uint32_t r = 0; r < player->n_ranks; r++)
            sum += part_of(player->ranks[r], player->call, i);
        WORKER_CHECK(recv[i] - sum < 1e-5F && sum - recv[i] < 1e-5F);
    }
    digest_tell(player, HOOP_OK, recv, sizeof(recv));
    return 0;
}

/* The call is in place. The own block lies where it would be if no rank had
 * died. */
static int
allgather(struct player *player)
{
    const uint32_t rank = hoop_comm_rank(player->comm);

    send_fill(player, COUNT);
    memset(player->recv, 0, sizeof(player->recv));
    memcpy(player->recv + rank * COUNT, player->send, COUNT * sizeof(int64_t));
    WORKER_CHECK(hoop_allgather(HOOP_IN_PLACE, player->recv, COUNT, HOOP_INT64,
                                player->comm) == HOOP_OK);
    WORKER_CHECK(contributors_take(player) == 0);
    for (uint32_t r = 0; r < player->n_ranks; r++) {
        for (size_t i = 0; i < COUNT; i++)
            WORKER_CHECK(player->recv[r * COUNT + i] ==
                         value_of(player->ranks[r], player->call, i));
    }
    digest_tell(player, HOOP_OK, player->recv,
                player->n_ranks * COUNT * sizeof(int64_t));
    return 0;
}

/* The values of a block begin at COUNT times the world rank for which it is.
 * Later rounds are in place, and every second round is uneven. */
static int
reduce_scatter(struct player *player)
{
    const uint32_t size = hoop_comm_size(player->comm);
    const size_t base = player->worker->index * (size_t)COUNT;
    const bool is_even = player->call / KINDS % 2 == 0;
    size_t counts[WORKERS_MAX];
    int64_t *recv = player->call / KINDS < 2 ? player->recv : player->send;
    int64_t *block = player->send;
    enum hoop_status status;

    for (uint32_t r = 0; r < size; r++) {
        const uint32_t to = hoop_comm_world_rank(player->comm, r);

        counts[r] = is_even ? COUNT : COUNT - 7 * to;
        for (size_t i = 0; i < counts[r]; i++)
            *block++ = value_of(player->worker->index, player->call,
                                to * (size_t)COUNT + i);
    }
    if (is_even)
        status = hoop_reduce_scatter(player->send, recv, COUNT, HOOP_INT64,
                                     HOOP_SUM, player->comm);
    else
        status = hoop_reduce_scatterv(player->send, recv, counts, HOOP_INT64,
                                      HOOP_SUM, player->comm);
    WORKER_CHECK(status == HOOP_OK);
    WORKER_CHECK(contributors_take(player) == 0);
    for (size_t i = 0; i < COUNT - 7 * (size_t)WORKERS_MAX; i++)
        WORKER_CHECK(recv[i] == sum_of(player, base + i));
    digest_tell(player, HOOP_OK, NULL, 0);
    return 0;
}

/* If the root has died, all ranks are told so, and the next call works. */
static int
with_root(struct player *player)
{
    const bool is_reduce = player->call / KINDS % 2;
    const uint32_t root = hoop_comm_world_rank(player->comm, 0);
    enum hoop_status status;

    send_fill(player, COUNT);
    memcpy(player->recv, player->send, COUNT * sizeof(int64_t));
    if (is_reduce)
        status = hoop_reduce(player->send, player->recv, COUNT, HOOP_INT64,
                             HOOP_SUM, 0, player->comm);
    else
        status = hoop_broadcast(HOOP_IN_PLACE, player->recv, COUNT, HOOP_INT64,
                                0, player->comm);
    WORKER_CHECK(status == HOOP_OK || status == HOOP_E_PEER_LOST);
    WORKER_CHECK(contributors_take(player) == 0);
    for (size_t i = 0; status == HOOP_OK && i < COUNT; i++) {
        if (!is_reduce)
            WORKER_CHECK(player->recv[i] == value_of(root, player->call, i));
        else if (root == player->worker->index)
            WORKER_CHECK(player->recv[i] == sum_of(player, i));
    }
    digest_tell(player, status, NULL, 0);
    return 0;
}

static int
barrier(struct player *player)
{
    WORKER_CHECK(hoop_barrier(player->comm) == HOOP_OK);
    WORKER_CHECK(contributors_take(player) == 0);
    digest_tell(player, HOOP_OK, NULL, 0);
    return 0;
}

static int
call_make(struct player *player)
{
    switch (player->call % KINDS) {
    case 0:
        return allreduce_in_place(player);
    case 1:
        return allreduce_apart(player);
    case 2:
        return allgather(player);
    case 3:
        return reduce_scatter(player);
    case 4:
        return with_root(player);
    default:
        return barrier(player);
    }
}

/* Joins with the settings of the scene, or of none, in which no worker is
 * killed. Returns 0 if all is well. */
static int
retry_join(const struct worker *worker, hoop_session_t **out_session)
{
    const struct hoop_join_options options = worker_options(worker);

    setenv("HOOP_ON_FAILURE", "retry", 1);
    setenv("HOOP_DEBUG_FAULT", scene ? scene->faults : "", 1);
    /* A worker that is only slow on a busy machine must not count as lost. */
    setenv("HOOP_FAILURE_TIMEOUT", "30", 1);
    WORKER_CHECK(hoop_join(&options, out_session) == HOOP_OK);
    /* If a worker died at once, the others would miss it while they join. */
    room_set(worker, worker->index, 1);
    for (uint32_t i = 0; i < worker->n_workers; i++)
        WORKER_CHECK(room_await(worker, i));
    return 0;
}

static int
calls_body(const struct worker *worker)
{
    CLEANUP(free) struct player *player = calloc(1, sizeof(*player));
    hoop_session_t *session = NULL;

    WORKER_CHECK(retry_join(worker, &session) == 0);
    player->worker = worker;
    player->comm = hoop_world(session);
    for (player->call = 0; player->call < CALLS; player->call++) {
        if (call_make(player) != 0) {
            fprintf(stderr, "worker %u, call %u of %s: %s (%s)\n",
                    worker->index, player->call, scene->faults,
                    hoop_error_text(), hoop_error_path());
            return 1;
        }
    }
    hoop_leave(session);
    return 0;
}

/* All workers that returned from a call must have the same digest. Returns how
 * many returned from all calls. */
static uint32_t
table_check(void)
{
    uint32_t n_through = 0;

    for (unsigned call = 0; call < CALLS; call++) {
        uint64_t first = 0;

        for (uint32_t i = 0; i < scene->n_workers; i++) {
            const uint64_t digest = table->digests[i][call];

            if (first == 0)
                first = digest;
            if (digest != 0 && digest != first)
                fail_msg("worker %u has another result of call %u (%s)", i,
                         call, scene->faults);
            n_through += call == CALLS - 1 && digest != 0;
        }
    }
    return n_through;
}

/* Plays one scene with hoopd. Returns how many workers made all calls. Fails
 * the test if one that was not killed did not, or if two have different results
 * of a call. */
static uint32_t
retry_scene_play(const struct retry_scene *it)
{
    if (!FAULT_IS_BUILT)
        skip();
    scene = it;
    table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(table != MAP_FAILED);
    if (workers_run(hoopd.address, it->n_workers, calls_body, 0) != 0)
        fail_msg("some came to a bad end (%s)", it->faults);
    const uint32_t n_through = table_check();
    munmap(table, sizeof(*table));
    scene = NULL;
    return n_through;
}

/* Eight ranks are too many for a sanitizer, so the last scenes are left out. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const size_t N_LARGE_LEFT_OUT = 1;
#else
static const size_t N_LARGE_LEFT_OUT = 0;
#endif

static void
scenes_play(const struct retry_scene *scenes, size_t n_scenes, uint32_t n_dead)
{
    for (size_t i = 0; i < n_scenes; i++) {
        const uint32_t n_through = retry_scene_play(&scenes[i]);

        if (n_through != scenes[i].n_workers - n_dead)
            fail_msg("%u workers made all calls (%s)", n_through,
                     scenes[i].faults);
    }
}

static void
nobody_dies(void **state)
{
    scenes_play(&(struct retry_scene){3, ""}, 1, 0);
}

static void
one_dies_wherever_it_is(void **state)
{
    static const struct retry_scene scenes[] = {
        {3, "rank=1,op=allreduce,seq=3,at=send,do=kill"},
        {3, "rank=2,op=broadcast,seq=2,do=kill"},
        {4, "rank=3,op=reduce_scatter,seq=2,at=receive,do=kill"},
        {4, "rank=1,op=allgather,seq=3,at=begin,do=kill"},
        {8, "rank=5,op=allreduce,seq=9,at=receive,do=kill"},
    };

    scenes_play(scenes, COUNT_OF(scenes) - N_LARGE_LEFT_OUT, 1);
}

static void
first_rank_dies(void **state)
{
    static const struct retry_scene scenes[] = {
        {3, "rank=0,op=allreduce,seq=5,at=end,do=kill"},
        {4, "rank=0,op=broadcast,seq=2,at=begin,do=kill"},
        {4, "rank=0,op=reduce,seq=1,at=end,do=kill"},
    };

    scenes_play(scenes, COUNT_OF(scenes), 1);
}

static void
two_die_one_after_another(void **state)
{
    static const struct retry_scene scenes[] = {
        {4, "rank=3,op=allreduce,seq=5,at=send,do=kill;"
            "rank=0,op=allreduce,seq=9,at=end,do=kill"},
        {4, "rank=1,op=allreduce,seq=4,at=begin,do=kill;"
            "rank=2,op=broadcast,seq=2,do=kill"},
        {3, "rank=1,op=allreduce,seq=3,at=begin,do=kill;"
            "rank=0,op=barrier,seq=1,at=begin,do=kill"},
        {8, "rank=7,op=allreduce,seq=7,at=send,do=kill;"
            "rank=4,op=allreduce,seq=8,at=receive,do=kill"},
    };

    scenes_play(scenes, COUNT_OF(scenes) - N_LARGE_LEFT_OUT, 2);
}

/* The transport is TCP. Two of four ranks have the sum of the previous call and
 * are in a broadcast of the dead rank, when the third rank, which lacks the
 * sum, learns of the death. */
static void
root_dies_between_two_calls(void **state)
{
    static const struct retry_scene one = {
        4, "rank=0,op=allreduce,seq=6,round=2,at=send,do=kill"};

    assert_int_equal(setenv("HOOP_TRANSPORT", "tcp", 1), 0);
    scenes_play(&one, 1, 1);
    assert_int_equal(unsetenv("HOOP_TRANSPORT"), 0);
}

static uint64_t chance;

/* Draws rules that kill different ranks in any place, or never if the place is
 * not reached. */
static void
deaths_draw(char *text, size_t n_bytes, uint32_t n_workers)
{
    static const char *const ops[] = {"allreduce", "allreduce", "allgather",
                                      "reduce_scatter", "reduce"};
    static const char *const places[] = {"begin", "send", "receive", "end"};
    const uint32_t n_deaths = 1 + random_below(&chance, n_workers - 1);
    const uint32_t first = random_below(&chance, n_workers);
    size_t n_written = 0;

    for (uint32_t i = 0; i < n_deaths; i++)
        n_written += (size_t)snprintf(
            text + n_written, n_bytes - n_written,
            "%srank=%u,op=%s,seq=%u,at=%s,do=kill", i > 0 ? ";" : "",
            (first + i) % n_workers, ops[random_below(&chance, COUNT_OF(ops))],
            1 + random_below(&chance, 12),
            places[random_below(&chance, COUNT_OF(places))]);
}

/* RETRY_ROUNDS and RETRY_SEED choose how many rounds, and which. */
static void
some_die_by_chance(void **state)
{
    static const uint32_t sizes[] = {3, 4, 8};
    const uint64_t n_rounds = number_from_environment("RETRY_ROUNDS", 2);
    char text[1024];

    chance = number_from_environment("RETRY_SEED", 1);
    for (unsigned i = 0; i < n_rounds; i++) {
        const uint32_t n_workers =
            sizes[i % (COUNT_OF(sizes) - N_LARGE_LEFT_OUT)];

        deaths_draw(text, sizeof(text), n_workers);
        assert_true(retry_scene_play(&(struct retry_scene){n_workers, text}) >=
                    1);
    }
}

/* Calls that are only started cannot be repeated, and calls that the library
 * makes for itself end as usual. */
static int
other_calls_are_as_ever(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *part = NULL;
    hoop_op_t *op = NULL;
    int64_t value = 1;

    WORKER_CHECK(retry_join(worker, &session) == 0);
    hoop_comm_t *world = hoop_world(session);
    WORKER_CHECK(hoop_allreduce_start(&value, HOOP_IN_PLACE, 1, HOOP_INT64,
                                      HOOP_SUM, world,
                                      &op) == HOOP_E_UNIMPLEMENTED);
    WORKER_CHECK(strstr(hoop_error_text(), "HOOP_ON_FAILURE=retry"));
    WORKER_CHECK(hoop_barrier_start(world, &op) == HOOP_E_UNIMPLEMENTED);
    WORKER_CHECK(hoop_allreduce(&value, HOOP_IN_PLACE, 1, HOOP_INT64, HOOP_SUM,
                                NULL) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_allreduce(NULL, &value, 1, HOOP_INT64, HOOP_SUM, world) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_comm_split(world, worker->index % 2, 0, &part) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_allreduce(&value, HOOP_IN_PLACE, 1, HOOP_INT64, HOOP_SUM,
                                part) == HOOP_OK);
    WORKER_CHECK(value == hoop_comm_size(part));
    /* A rank that makes a different call is told, like all others. */
    const enum hoop_status status =
        worker->index == 1 ? hoop_barrier(world)
                           : hoop_allreduce(&value, HOOP_IN_PLACE, 1,
                                            HOOP_INT64, HOOP_SUM, world);
    WORKER_CHECK(status == HOOP_E_MISMATCH);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    hoop_leave(session);
    return 0;
}

/* A sanitizer needs address space of its own. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
enum {
    POOR_BYTES = 32 << 20,
};

/* Allows n_more bytes of memory; 0 removes the limit. */
static int
memory_limit(size_t n_more)
{
    size_t n_pages = 0;
    struct rlimit limit;
    FILE *file = fopen("/proc/self/statm", "r");
    const bool is_read = file && fscanf(file, "%zu", &n_pages) == 1 &&
                         getrlimit(RLIMIT_AS, &limit) == 0;

    if (file)
        fclose(file);
    if (!is_read)
        return -1;
    limit.rlim_cur = n_more ? n_pages * (size_t)sysconf(_SC_PAGESIZE) + n_more
                            : limit.rlim_max;
    return setrlimit(RLIMIT_AS, &limit);
}

/* Rank 1 cannot keep a copy of its input once, and all remaining ranks are told
 * so. */
static int
poor_call(const struct worker *worker, hoop_comm_t *world, uint32_t n_left)
{
    CLEANUP(free) uint8_t *values = calloc(1, POOR_BYTES);
    int64_t value = 1;

    WORKER_CHECK(values);
    if (worker->index == 1)
        WORKER_CHECK(memory_limit(POOR_BYTES / 2) == 0);
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, values, POOR_BYTES, HOOP_UINT8,
                                HOOP_SUM, world) == HOOP_E_EXHAUSTED);
    WORKER_CHECK(strstr(hoop_error_text(), "no memory to keep"));
    WORKER_CHECK(worker->index == 1 || strstr(hoop_error_text(), "rank 1 ("));
    WORKER_CHECK(memory_limit(0) == 0);
    WORKER_CHECK(hoop_comm_size(world) == n_left);
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_INT64, HOOP_SUM,
                                world) == HOOP_OK);
    WORKER_CHECK(value == n_left);
    return 0;
}

static int
poor_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;

    WORKER_CHECK(retry_join(worker, &session) == 0);
    if (poor_call(worker, hoop_world(session), worker->n_workers) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

/* The last rank dies instead of calling. */
static int
poor_survivor_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;

    WORKER_CHECK(retry_join(worker, &session) == 0);
    if (worker->index == worker->n_workers - 1)
        kill(getpid(), SIGKILL);
    if (poor_call(worker, hoop_world(session), worker->n_workers - 1) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}
#endif

static void
rank_without_memory_fails_the_call_for_all(void **state)
{
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    assert_int_equal(workers_run(hoopd.address, 3, poor_body, NULL), 0);
#endif
}

static void
rank_without_memory_goes_on_with_the_survivors(void **state)
{
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    assert_int_equal(workers_run(hoopd.address, 3, poor_survivor_body, NULL),
                     0);
#endif
}

/*
 * The cases below have survivors that do not arrive in time.
 *
 * Each call adds numbers that show which worker gave them, and in which call.
 * No worker may get what another has given to a different call.
 */

enum {
    N_WORKERS = 4,
    DEAD = 3,
    LATE = 2,
    MISSED_MAX = 3,
    SHORT_MS = 300,
    FAIR_MS = 3000,
    LONG_MS = 20000,
    PLACE_MISSED = WORKERS_MAX - 1, /* after those of retry_join() */
};

/* How many calls time out before the late worker makes its first one. */
static uint32_t n_missed;

static int64_t
late_value_of(uint32_t worker, int64_t call)
{
    return (call + 1) << (8 * worker);
}

static enum hoop_status
late_call_make(const struct worker *worker,
               hoop_comm_t *world,
               int64_t call,
               int64_t *out_sum)
{
    const int64_t value = late_value_of(worker->index, call);

    return hoop_allreduce(&value, out_sum, 1, HOOP_INT64, HOOP_SUM, world);
}

/* One worker dies as soon as all have joined. */
static int
late_join(const struct worker *worker, hoop_session_t **out_session)
{
    WORKER_CHECK(retry_join(worker, out_session) == 0);
    if (worker->index == DEAD)
        kill(getpid(), SIGKILL);
    return 0;
}

/* All survivors make this call. */
static int
call_check(const struct worker *worker, hoop_comm_t *world, int64_t call)
{
    int64_t sum = 0;

    hoop_comm_set_timeout(world, LONG_MS);
    WORKER_CHECK(late_call_make(worker, world, call, &sum) == HOOP_OK);
    WORKER_CHECK(sum == late_value_of(0, call) + late_value_of(1, call) +
                            late_value_of(LATE, call));
    WORKER_CHECK(hoop_comm_size(world) == N_WORKERS - 1);
    return 0;
}

static int
late_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    int64_t sum = 0;

    WORKER_CHECK(late_join(worker, &session) == 0);
    hoop_comm_t *world = hoop_world(session);
    if (worker->index == LATE)
        room_await_count(worker, PLACE_MISSED, 2);
    else
        hoop_comm_set_timeout(world, SHORT_MS);
    for (uint32_t call = 0; call < n_missed; call++)
        WORKER_CHECK(late_call_make(worker, world, call, &sum) ==
                     HOOP_E_TIMEOUT);
    if (worker->index != LATE)
        __atomic_fetch_add(&worker->room[PLACE_MISSED], 1, __ATOMIC_RELEASE);
    if (call_check(worker, world, n_missed) != 0 ||
        call_check(worker, world, n_missed + 1) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static void
late_rank_ends_the_calls_that_timed_out_without_it(void **state)
{
    for (n_missed = 1; n_missed <= MISSED_MAX; n_missed++)
        assert_int_equal(workers_run(hoopd.address, N_WORKERS, late_body, NULL),
                         0);
}

static int
unanswered_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    int64_t sum = 0;

    WORKER_CHECK(late_join(worker, &session) == 0);
    hoop_comm_t *world = hoop_world(session);
    hoop_comm_set_timeout(world, FAIR_MS);
    /* One worker cannot know that the others repeat the call, so all of them
     * end it. */
    WORKER_CHECK(late_call_make(worker, world, 0, &sum) == HOOP_E_TIMEOUT);
    if (call_check(worker, world, 1) != 0 || call_check(worker, world, 2) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

/* Three ranks shrink, confirm that, and agree. The last one gets no answer. */
static void
rank_without_an_answer_ends_the_call_that_others_repeat(void **state)
{
    struct daemon other;

    if (!FAULT_IS_BUILT)
        skip();
    assert_int_equal(setenv("HOOP_DEBUG_FAULT",
                            "rank=coordinator,op=groups_agree,seq=9,do=drop",
                            1),
                     0);
    daemon_start(&other, NULL);
    assert_int_equal(unsetenv("HOOP_DEBUG_FAULT"), 0);
    const uint32_t n_failed =
        workers_run(other.address, N_WORKERS, unanswered_body, NULL);
    daemon_stop(&other);
    assert_int_equal(n_failed, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_dies),
        cmocka_unit_test(one_dies_wherever_it_is),
        cmocka_unit_test(first_rank_dies),
        cmocka_unit_test(two_die_one_after_another),
        cmocka_unit_test(root_dies_between_two_calls),
        cmocka_unit_test(some_die_by_chance),
        WORKERS_TEST(other_calls_are_as_ever, 3),
        cmocka_unit_test(rank_without_memory_fails_the_call_for_all),
        cmocka_unit_test(rank_without_memory_goes_on_with_the_survivors),
        cmocka_unit_test(late_rank_ends_the_calls_that_timed_out_without_it),
        cmocka_unit_test(
            rank_without_an_answer_ends_the_call_that_others_repeat),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
