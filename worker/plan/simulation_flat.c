/* plan/simulation_flat.c - what a flat plan would cost on a machine */

#include "plan/simulation_flat.h"

#include <assert.h>

#include "base/error.h"

enum {
    FLAT_ACTORS = 16,      /* ranks that are followed, at most */
    FLAT_ROUNDS_FIRST = 6, /* rounds that are played, and then the last ones */
    FLAT_ROUNDS_LAST = 2,
};

/* Measured, on two processors beside each other: to begin and end a round; to
 * see what another has written; from one rank to the next on a processor. */
static const double ROUND_NS = 100;
static const double LOOK_NS = 50;
static const double TURN_NS = 2400;
/* A stage lies in a cache from its post to its combination: so much of what a
 * byte of a large buffer costs, and of what it costs more where that does not
 * fit the cache. */
static const double STAGE_PART = 0.67;
static const double MEMORY_PART = 0.45;

struct flat_player {
    uint32_t rank;
    double now_ns;
    double published_ns; /* of the round being played */
    double finished_ns[2];
};

struct flat_scene {
    const struct algorithm *algorithm;
    struct plan_shape shape; /* with the rank that plans */
    double element_size;
    const struct simulation_machine *machine;
    double crowd;        /* ranks for each processor; 1 at least */
    double user_byte_ns; /* more for a byte of the user's buffers */
    struct flat_player players[FLAT_ACTORS];
    uint32_t n_players;
    struct plan plan;
    double bytes;   /* that the players posted */
    double work_ns; /* of all players */
};

/* The root, and others around. */
static void
scene_cast(struct flat_scene *scene)
{
    const uint32_t size = scene->shape.size;
    const uint32_t n = size < FLAT_ACTORS ? size : FLAT_ACTORS;

    scene->n_players = n;
    for (uint32_t i = 0; i < n; i++)
        scene->players[i].rank =
            (uint32_t)((scene->shape.root + (uint64_t)size * i / n) % size);
}

/* Who is not followed does what the last one does. */
static const struct flat_player *
player_of(const struct flat_scene *scene, uint32_t rank)
{
    for (uint32_t i = 0; i < scene->n_players; i++)
        if (scene->players[i].rank == rank)
            return &scene->players[i];
    return &scene->players[scene->n_players - 1];
}

static double
later(double one, double other)
{
    return one > other ? one : other;
}

/* What is copied is posted or combined at the same time. Messages are not in
 * flat plans. */
static double
byte_ns(const struct flat_scene *scene, enum plan_kind kind)
{
    if (kind == PLAN_COPY || kind == PLAN_SHOW)
        return 0;

    const bool combines = kind == PLAN_FETCH_REDUCE || kind == PLAN_COMBINE;

    return combines ? STAGE_PART * scene->machine->reduce_byte_ns
                    : STAGE_PART * scene->machine->copy_byte_ns +
                          scene->user_byte_ns;
}

static double
step_ns(const struct flat_scene *scene, const struct plan_step *step)
{
    return (double)step->from.count * scene->element_size *
           byte_ns(scene, step->kind);
}

static enum hoop_status
player_plan(struct flat_scene *scene,
            const struct flat_player *player,
            uint32_t round)
{
    plan_clear(&scene->plan);
    scene->shape.rank = player->rank;
    scene->algorithm->plan_round(&scene->plan, &scene->shape, round);
    return error_pass(plan_status(&scene->plan));
}

/* Up to the publication. */
static void
player_post(struct flat_scene *scene,
            struct flat_player *player,
            double free_ns)
{
    const double begin_ns = later(player->now_ns, free_ns);

    player->now_ns = begin_ns + ROUND_NS;
    for (size_t i = 0; i < scene->plan.n_steps; i++) {
        const struct plan_step *step = &scene->plan.steps[i];

        if (step->kind != PLAN_POST)
            break;
        player->now_ns += step_ns(scene, step);
        scene->bytes += (double)step->from.count * scene->element_size;
    }
    player->published_ns = player->now_ns;
    scene->work_ns += player->now_ns - begin_ns;
}

/* What follows it. */
static void
player_fetch(struct flat_scene *scene, struct flat_player *player)
{
    bool has_waited = false;

    for (size_t i = 0; i < scene->plan.n_steps; i++) {
        const struct plan_step *step = &scene->plan.steps[i];

        if (step->kind == PLAN_FETCH || step->kind == PLAN_FETCH_REDUCE) {
            player->now_ns = later(player->now_ns,
                                   player_of(scene, step->peer)->published_ns);
            player->now_ns += step->peer == player->rank ? 0 : LOOK_NS;
            has_waited = true;
        }
        if (step->kind != PLAN_POST) {
            player->now_ns += step_ns(scene, step);
            scene->work_ns += step_ns(scene, step);
        }
    }
    if (has_waited && scene->crowd > 1)
        player->now_ns += TURN_NS * scene->crowd;
}

/* Who waits leaves the processors to others; together they do no more than
 * there is time for. */
static void
round_end(struct flat_scene *scene, uint32_t round)
{
    const double all_ns = scene->work_ns / scene->n_players * scene->crowd;

    for (uint32_t i = 0; i < scene->n_players; i++) {
        struct flat_player *player = &scene->players[i];

        player->now_ns = later(player->now_ns, all_ns);
        player->finished_ns[round % 2] = player->now_ns;
    }
}

static enum hoop_status
round_play(struct flat_scene *scene, uint32_t round)
{
    double free_ns = 0;

    for (uint32_t i = 0; round > 1 && i < scene->n_players; i++)
        free_ns = later(free_ns, scene->players[i].finished_ns[round % 2]);
    for (uint32_t i = 0; i < scene->n_players; i++) {
        const enum hoop_status status =
            player_plan(scene, &scene->players[i], round);

        if (status != HOOP_OK)
            return error_pass(status);
        player_post(scene, &scene->players[i], free_ns);
    }
    for (uint32_t i = 0; i < scene->n_players; i++) {
        const enum hoop_status status =
            player_plan(scene, &scene->players[i], round);

        if (status != HOOP_OK)
            return error_pass(status);
        player_fetch(scene, &scene->players[i]);
    }
    round_end(scene, round);
    return HOOP_OK;
}

static double
scene_end_ns(const struct flat_scene *scene)
{
    double end_ns = 0;

    for (uint32_t i = 0; i < scene->n_players; i++)
        end_ns = later(end_ns, scene->players[i].now_ns);
    return end_ns;
}

/* What the last round took, so many times more. */
static void
scene_skip(struct flat_scene *scene, double round_ns, double round_bytes)
{
    scene->work_ns += round_ns / scene->crowd * scene->n_players;
    for (uint32_t i = 0; i < scene->n_players; i++) {
        scene->players[i].now_ns += round_ns;
        scene->players[i].finished_ns[0] += round_ns;
        scene->players[i].finished_ns[1] += round_ns;
    }
    scene->bytes += round_bytes;
}

static enum hoop_status
scene_play(struct flat_scene *scene, uint32_t n_rounds)
{
    const uint32_t n_played = FLAT_ROUNDS_FIRST + FLAT_ROUNDS_LAST;
    double before_ns = 0;
    double before_bytes = 0;

    for (uint32_t round = 0; round < n_rounds; round++) {
        if (round == FLAT_ROUNDS_FIRST && n_rounds > n_played) {
            const double n_skipped = n_rounds - n_played;

            scene_skip(scene, n_skipped * (scene_end_ns(scene) - before_ns),
                       n_skipped * (scene->bytes - before_bytes));
            round = n_rounds - FLAT_ROUNDS_LAST;
        }
        before_ns = scene_end_ns(scene);
        before_bytes = scene->bytes;

        const enum hoop_status status = round_play(scene, round);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* All that the ranks bring and get, if it does not fit the cache. */
static double
user_byte_ns(const struct flat_scene *scene)
{
    const double bytes = 2 * (double)scene->shape.count * scene->element_size *
                         scene->shape.size;

    return scene->machine->cache_bytes > 0 &&
                   bytes > (double)scene->machine->cache_bytes
               ? MEMORY_PART * scene->machine->memory_byte_ns
               : 0;
}

enum hoop_status
simulation_flat_run(const struct algorithm *algorithm,
                    const struct plan_shape *shape,
                    size_t element_size,
                    const struct simulation_machine *machine,
                    struct simulation_result *out_result)
{
    const double per_processor = (double)shape->size / machine->n_processors;
    struct flat_scene scene = {
        .algorithm = algorithm,
        .shape = *shape,
        .element_size = (double)element_size,
        .machine = machine,
        .crowd = per_processor > 1 ? per_processor : 1,
    };
    const uint32_t n_rounds = algorithm->n_rounds(shape);

    assert(algorithm->is_flat);
    assert(shape->n_slot >= shape->size);
    scene_cast(&scene);
    scene.user_byte_ns = user_byte_ns(&scene);
    const enum hoop_status status = scene_play(&scene, n_rounds);
    plan_deinit(&scene.plan);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_result = (struct simulation_result){
        .time_ns = scene_end_ns(&scene),
        .bytes =
            (uint64_t)(scene.bytes / scene.n_players * (double)shape->size),
        .messages = (uint64_t)n_rounds * shape->size,
        .is_extrapolated = scene.n_players < shape->size,
    };
    return HOOP_OK;
}
