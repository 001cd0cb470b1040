/*
 * tests/integration/pipeline/pipe_storm_test.c - random exchanges of many
 * batches
 *
 * There are 64 micro-batches of two virtual stages in flight. All exchanges are
 * random, with random delays. Each virtual stage of each micro-batch is a
 * thread. In a round it plays one of five scenes, which is the same on all
 * ranks, together with the threads of the same micro-batch on its neighbours.
 * Nothing else synchronizes the threads. Each value says where it belongs.
 *
 * PIPE_STORM_ROUNDS=1000 makes it longer, and PIPE_STORM_SEED=7 repeats a run.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/pipeline/pipe_case.h"
#include "pseudo_random.h"

enum {
    N_BATCHES = 64,
    N_CHUNKS = 2,
    N_PLAYERS = N_BATCHES * N_CHUNKS,
    DELAY_MAX_US = 300,
};

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static uint64_t n_rounds = 2;
#else
static uint64_t n_rounds = 10;
#endif
static uint64_t seed = 1;

enum scene {
    SCENE_APART,   /* activations forward, then gradients back, one by one */
    SCENE_STEADY,  /* both with each neighbour, alternately */
    SCENE_FORWARD, /* this and the next two are the rings */
    SCENE_BACKWARD,
    SCENE_BOTH,
    SCENES,
};

/* One virtual stage of one micro-batch. */
struct player {
    struct rank *rank;
    hoop_pipeline_t *pipeline;
    uint32_t batch;
    uint32_t chunk;
    uint64_t round;
    uint64_t chance; /* draws delays; differs between ranks */
    int result;
};

/* Draws for a batch in a round. The result is the same on all ranks. */
static uint64_t
drawn_for(const struct player *player, uint64_t what)
{
    uint64_t state =
        seed ^ player->round << 20 ^ (uint64_t)player->batch << 4 ^ what << 48;

    return random_next(&state);
}

/* Every second call is late. */
static void
delay(struct player *player)
{
    const uint64_t number = random_next(&player->chance);

    if (number % 2 == 0)
        usleep((useconds_t)(number / 2 % DELAY_MAX_US));
}

/* Some tensors are larger than what is sent without a request. */
static size_t
count_of(const struct player *player)
{
    const uint64_t number = drawn_for(player, 1);

    return number % 16 == 0 ? 9000 + number / 16 % 3000 : number / 16 % 300;
}

/* The value says where it belongs. An edge has the number of the virtual stage
 * where it begins. */
static int64_t
value_of(const struct player *player, uint32_t edge, int64_t sign, size_t i)
{
    return sign * (int64_t)(player->round << 32 | player->batch << 24 |
                            edge << 16 | (i & 0xffff));
}

static uint32_t
n_stages(const struct player *player)
{
    return player->rank->size;
}

/* The virtual stages form a row, and the stages of each chunk form a ring. */
static uint32_t
virtual_stage(const struct player *player)
{
    return player->chunk * n_stages(player) + player->rank->rank;
}

static struct hoop_tensor
parcel_like(const struct player *player)
{
    return tensor_like(HOOP_INT64, 1, (size_t[]){count_of(player)});
}

static struct hoop_tensor
filled(const struct player *player, uint32_t edge, int64_t sign)
{
    const size_t n = count_of(player);
    struct hoop_tensor tensor = parcel_like(player);
    int64_t *at = malloc((n + 1) * sizeof(*at));

    for (size_t i = 0; i < n; i++)
        at[i] = value_of(player, edge, sign, i);
    tensor.data = at;
    return tensor;
}

static bool
is_right(const struct player *player,
         const struct hoop_tensor *tensor,
         uint32_t edge,
         int64_t sign)
{
    const int64_t *at = tensor->data;
    const size_t n = count_of(player);
    bool is_equal = tensor->shape.n_dims == 1 && tensor->shape.dims[0] == n;

    for (size_t i = 0; is_equal && i < n; i++)
        is_equal = at[i] == value_of(player, edge, sign, i);
    return is_equal;
}

/* What a scene sends or receives over an edge. Half of the tensors are received
 * with any shape. */
struct cargo {
    struct hoop_tensor tensor;
    struct hoop_tensors list;
};

static const struct hoop_tensors *
load(struct cargo *cargo,
     const struct player *player,
     uint32_t edge,
     int64_t sign)
{
    cargo->tensor = filled(player, edge, sign);
    cargo->list = (struct hoop_tensors){1, &cargo->tensor, &cargo->tensor, 0};
    return &cargo->list;
}

static struct hoop_tensors *
expect(struct cargo *cargo, const struct player *player)
{
    cargo->tensor = parcel_like(player);
    if (drawn_for(player, 2) % 2 == 0)
        cargo->tensor.shape.n_dims = HOOP_ANY_SHAPE;
    cargo->list = (struct hoop_tensors){1, &cargo->tensor, &cargo->tensor, 0};
    return &cargo->list;
}

/* Checks the tensor and frees it. */
static bool
unload(struct cargo *cargo,
       const struct player *player,
       uint32_t edge,
       int64_t sign)
{
    const bool is_well = cargo->list.n_tensors == 1 &&
                         is_right(player, &cargo->tensor, edge, sign);

    free(cargo->tensor.data);
    return is_well;
}

/* Returns the lane of an edge between virtual stages, which is the same at both
 * ends. */
static struct hoop_pipe_options
lane_of(const struct player *player, uint32_t edge)
{
    return (struct hoop_pipe_options){
        .lane = player->batch * 64 + edge / n_stages(player),
    };
}

#define PLAYER_CHECK(condition)                                                \
    do {                                                                       \
        if (!(condition))                                                      \
            return player_report(player, #condition, __LINE__);                \
    } while (0)

static int
player_report(const struct player *player, const char *condition, int line)
{
    fprintf(stderr, "seed %llu, round %llu, batch %u, chunk %u, scene %llu\n",
            (unsigned long long)seed, (unsigned long long)player->round,
            player->batch, player->chunk,
            (unsigned long long)(drawn_for(player, 0) % SCENES));
    return rank_report(player->rank, condition, __FILE_NAME__, line);
}

static int
play_apart(struct player *player)
{
    const uint32_t here = virtual_stage(player);
    const bool is_first = here == 0;
    const bool is_last = here == N_CHUNKS * n_stages(player) - 1;
    const struct hoop_pipe_options before = lane_of(player, here - 1);
    const struct hoop_pipe_options behind = lane_of(player, here);
    struct cargo mine;
    struct cargo theirs;

    PLAYER_CHECK(hoop_pipe_recv_forward(player->pipeline,
                                        expect(&theirs, player),
                                        is_first ? NULL : &before) == HOOP_OK);
    PLAYER_CHECK(is_first ? theirs.list.n_received == 0
                          : unload(&theirs, player, here - 1, 1));
    delay(player);
    load(&mine, player, here, 1);
    PLAYER_CHECK(hoop_pipe_send_forward(player->pipeline, &mine.list,
                                        is_last ? NULL : &behind) == HOOP_OK);
    PLAYER_CHECK(unload(&mine, player, here, 1));
    delay(player);
    PLAYER_CHECK(hoop_pipe_recv_backward(player->pipeline,
                                         expect(&theirs, player),
                                         is_last ? NULL : &behind) == HOOP_OK);
    PLAYER_CHECK(is_last ? theirs.list.n_received == 0
                         : unload(&theirs, player, here, -1));
    delay(player);
    load(&mine, player, here - 1, -1);
    PLAYER_CHECK(hoop_pipe_send_backward(player->pipeline, &mine.list,
                                         is_first ? NULL : &before) == HOOP_OK);
    PLAYER_CHECK(unload(&mine, player, here - 1, -1));
    return 0;
}

static int
play_steady(struct player *player)
{
    const uint32_t here = virtual_stage(player);
    const bool is_first = here == 0;
    const bool is_last = here == N_CHUNKS * n_stages(player) - 1;
    const struct hoop_pipe_options before = lane_of(player, here - 1);
    const struct hoop_pipe_options behind = lane_of(player, here);
    struct cargo mine;
    struct cargo theirs;

    load(&mine, player, here - 1, -1);
    PLAYER_CHECK(hoop_pipe_send_backward_recv_forward(
                     player->pipeline, &mine.list, expect(&theirs, player),
                     is_first ? NULL : &before) == HOOP_OK);
    PLAYER_CHECK(unload(&mine, player, here - 1, -1));
    PLAYER_CHECK(is_first ? theirs.list.n_received == 0
                          : unload(&theirs, player, here - 1, 1));
    delay(player);
    load(&mine, player, here, 1);
    PLAYER_CHECK(hoop_pipe_send_forward_recv_backward(
                     player->pipeline, &mine.list, expect(&theirs, player),
                     is_last ? NULL : &behind) == HOOP_OK);
    PLAYER_CHECK(unload(&mine, player, here, 1));
    PLAYER_CHECK(is_last ? theirs.list.n_received == 0
                         : unload(&theirs, player, here, -1));
    return 0;
}

/* An edge of a ring begins at a stage, and has the lane of the chunk. */
static int
play_ring(struct player *player, enum scene scene)
{
    const uint32_t n = n_stages(player);
    const uint32_t here = player->rank->rank;
    const uint32_t there = (here + n - 1) % n;
    const bool is_up = scene != SCENE_BACKWARD;
    const bool is_down = scene != SCENE_FORWARD;
    const struct hoop_pipe_options options = {
        .lane = player->batch * 64 + 32 + player->chunk,
    };
    struct cargo up[2];
    struct cargo down[2];
    const struct hoop_pipe_exchange exchange = {
        .output = is_up ? load(&up[0], player, here, 1) : NULL,
        .input = is_up ? expect(&up[1], player) : NULL,
        .input_grad = is_down ? load(&down[0], player, there, -1) : NULL,
        .output_grad = is_down ? expect(&down[1], player) : NULL,
    };
    enum hoop_status status;

    if (scene == SCENE_FORWARD)
        status = hoop_pipe_send_forward_recv_forward(
            player->pipeline, exchange.output, exchange.input, &options);
    else if (scene == SCENE_BACKWARD)
        status = hoop_pipe_send_backward_recv_backward(
            player->pipeline, exchange.input_grad, exchange.output_grad,
            &options);
    else
        status = hoop_pipe_exchange_all(player->pipeline, &exchange, &options);
    PLAYER_CHECK(status == HOOP_OK);
    PLAYER_CHECK(!is_up || (unload(&up[0], player, here, 1) &&
                            unload(&up[1], player, there, 1)));
    PLAYER_CHECK(!is_down || (unload(&down[0], player, there, -1) &&
                              unload(&down[1], player, here, -1)));
    return 0;
}

static void *
player_main(void *owner)
{
    struct player *player = owner;

    for (player->round = 0; player->round < n_rounds && player->result == 0;
         player->round++) {
        const enum scene scene = drawn_for(player, 0) % SCENES;

        delay(player);
        if (scene == SCENE_APART)
            player->result = play_apart(player);
        else if (scene == SCENE_STEADY)
            player->result = play_steady(player);
        else
            player->result = play_ring(player, scene);
    }
    return NULL;
}

static int
storm_body(struct rank *rank)
{
    static struct player players[N_PLAYERS];
    static pthread_t threads[N_PLAYERS];
    hoop_pipeline_t *pipelines[N_CHUNKS];
    int result = 0;

    for (uint32_t chunk = 0; chunk < N_CHUNKS; chunk++) {
        RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipelines[chunk]) ==
                   HOOP_OK);
        RANK_CHECK(hoop_pipeline_set_chunk(pipelines[chunk], chunk, N_CHUNKS) ==
                   HOOP_OK);
    }
    for (uint32_t i = 0; i < N_PLAYERS; i++) {
        players[i] = (struct player){
            .rank = rank,
            .pipeline = pipelines[i % N_CHUNKS],
            .batch = i / N_CHUNKS,
            .chunk = i % N_CHUNKS,
            .chance = seed << 32 ^ rank->rank << 16 ^ i,
        };
        RANK_CHECK(
            pthread_create(&threads[i], NULL, player_main, &players[i]) == 0);
    }
    for (uint32_t i = 0; i < N_PLAYERS; i++) {
        pthread_join(threads[i], NULL);
        result |= players[i].result;
    }
    for (uint32_t chunk = 0; chunk < N_CHUNKS; chunk++)
        hoop_pipeline_free(pipelines[chunk]);
    return result;
}

static void
storm(uint32_t size)
{
    assert_int_equal(ranks_run(&(struct ranks_options){
                         .size = size,
                         .body = storm_body,
                         .timeout_ms = 60000,
                         .deadline_s = 240 + (uint32_t)n_rounds,
                     }),
                     0);
}

static void
two_stages_never_cross(void **state)
{
    storm(2);
}

static void
three_stages_never_cross(void **state)
{
    storm(3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_stages_never_cross),
        cmocka_unit_test(three_stages_never_cross),
    };

    n_rounds = number_from_environment("PIPE_STORM_ROUNDS", n_rounds);
    seed = number_from_environment("PIPE_STORM_SEED", seed);
    printf("PIPE_STORM_ROUNDS=%llu PIPE_STORM_SEED=%llu\n",
           (unsigned long long)n_rounds, (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
