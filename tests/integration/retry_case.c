/* tests/integration/retry_case.c - workers that make calls, and die */

#include "retry_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "check.h"
#include "daemon.h"
#include "fault/fault.h"

enum {
    COUNT = 1500,
    KINDS = 6,
    CALLS = 4 * KINDS,
};

/* Shared by all workers: by worker and call; 0: it has not returned. */
struct table {
    uint64_t digests[WORKERS_MAX][CALLS];
};

static const struct retry_scene *scene;
static struct table *table;

/* What a worker has in hand. */
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

/* Not exact in a sum: the order of additions shows. */
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

/* The rank is among the contributors, who are in order. */
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

/* Of what all must have the same of. */
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

/* In place: the own block lies where it would be, had nobody died. */
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

/* A block's values begin at COUNT times the rank of the world that it is for;
 * in place in the later rounds, uneven in every second. */
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

/* Where the root has died, all are told so, and the next call goes on. */
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

int
retry_join(const struct worker *worker, hoop_session_t **out_session)
{
    const struct hoop_join_options options = worker_options(worker);

    setenv("HOOP_ON_FAILURE", "retry", 1);
    setenv("HOOP_DEBUG_FAULT", scene ? scene->faults : "", 1);
    /* Who is only slow on a busy machine is not lost. */
    setenv("HOOP_FAILURE_TIMEOUT", "30", 1);
    WORKER_CHECK(hoop_join(&options, out_session) == HOOP_OK);
    /* One that dies at once would be missed by those that still join. */
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

/* Of each call, all that returned from it have the same. Returns how many
 * returned from all. */
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

uint32_t
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
