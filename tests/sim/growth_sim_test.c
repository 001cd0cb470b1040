/*
 * tests/sim/growth_sim_test.c - a job that grows and loses workers, and a model
 *
 * Workers found a job, come to it, leave it or one of its worlds, die, and make
 * it grow, with newcomers who wish ranks or do not, or in vain: they give up,
 * or their time is over, or one of them dies. The coordinator is made again
 * from its records at random, also while a job grows. The model knows processes
 * only: which world each is in, by which rank, and who has left or is lost.
 * After each step job, members, counts and notices have to be those that it
 * says. Time is virtual: growth_sim_test SEED plays one seed again.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/identity.h"
#include "base/random.h"
#include "unit/server/core/record_store.h"

enum {
    N_SEEDS = 20,
    N_STEPS = 500, /* 10,000 in all */
    N_PROCESSES = 4096,
    N_WORLDS = 1024,
    SIZE_MAX_SIM = 9,
    LEASE_MS = 1000000000,
};

enum fate {
    FATE_NEW,
    FATE_LIVES,
    FATE_LEFT,
    FATE_LOST,
};

struct world {
    char name[32];
    uint32_t number; /* no other has it */
    uint64_t epoch;
    uint32_t size;
    uint32_t processes[SIZE_MAX_SIM]; /* by rank */
    bool is_in[SIZE_MAX_SIM];         /* neither left nor lost */
};

struct sim {
    uint64_t seed;
    uint64_t random;
    unsigned step;
    struct fixture f;
    struct record_store record_store;
    enum fate fates[N_PROCESSES];
    uint32_t n_processes;
    struct world worlds[N_WORLDS]; /* of the job that lives, the oldest first */
    uint32_t n_worlds;
    uint32_t n_names;
    /* In the life of the job: */
    uint32_t n_lost;
    uint32_t n_left;
    /* Of all steps: */
    uint64_t n_told_lost;
    uint64_t n_told_left;
    uint64_t n_told_ended;
    uint64_t n_deaths;
    uint64_t n_leaves;
    uint64_t n_ends;
    uint64_t n_grown;
    uint64_t n_in_vain;
    uint64_t n_late;
    uint64_t n_fewer;
    uint64_t n_refused;
    uint64_t n_restarts;
};

#define EXPECT(sim, holds)                                                     \
    do {                                                                       \
        if (!(holds)) {                                                        \
            fprintf(stderr, "growth_sim: %s: seed %llu, step %u\n", #holds,    \
                    (unsigned long long)(sim)->seed, (sim)->step);             \
            abort();                                                           \
        }                                                                      \
    } while (0)

static uint32_t
pick(struct sim *sim, uint32_t n)
{
    sim->random ^= sim->random << 13;
    sim->random ^= sim->random >> 7;
    sim->random ^= sim->random << 17;
    return (uint32_t)((sim->random >> 11) % n);
}

static void
notice_take(struct sim *sim, const struct cluster_log_notice *notice)
{
    EXPECT(sim, strcmp(notice->job, "a") == 0);
    EXPECT(sim, !strstr(notice->text, "a+"));
    sim->n_told_lost += notice->kind == CLUSTER_NOTICE_LOST;
    sim->n_told_left += notice->kind == CLUSTER_NOTICE_LEFT;
    sim->n_told_ended += notice->kind == CLUSTER_NOTICE_ENDED;
}

static uint64_t
take_step(struct sim *sim, struct cluster_event event)
{
    sim->f.now_ns += 1000;
    const uint64_t ticket = fixture_step(&sim->f, event);

    for (size_t i = 0; i < sim->f.actions.n_items; i++)
        if (sim->f.actions.items[i].kind == CLUSTER_LOG_NOTICE)
            notice_take(sim, &sim->f.actions.items[i].notice);
    record_store_apply(&sim->record_store, &sim->f);
    return ticket;
}

/* Of a process in the world of a number: never the same twice, nor 0. */
static uint64_t
incarnation(uint32_t world, uint32_t process)
{
    return (uint64_t)(world + 1) << 32 | (process + 1);
}

static void
world_add(struct sim *sim, const char *name, uint64_t epoch, uint32_t size)
{
    struct world *world = &sim->worlds[sim->n_worlds];

    EXPECT(sim, sim->n_worlds < N_WORLDS);
    *world =
        (struct world){.number = sim->n_names, .epoch = epoch, .size = size};
    sim->n_names++;
    sim->n_worlds++;
    snprintf(world->name, sizeof(world->name), "%s", name);
}

/* The newest world in which somebody is, or -1. */
static int
present(const struct sim *sim)
{
    for (int w = (int)sim->n_worlds - 1; w >= 0; w--)
        for (uint32_t rank = 0; rank < sim->worlds[w].size; rank++)
            if (sim->worlds[w].is_in[rank])
                return w;
    return -1;
}

static bool
is_anywhere(const struct sim *sim, uint32_t process)
{
    for (uint32_t w = 0; w < sim->n_worlds; w++)
        for (uint32_t rank = 0; rank < sim->worlds[w].size; rank++)
            if (sim->worlds[w].is_in[rank] &&
                sim->worlds[w].processes[rank] == process)
                return true;
    return false;
}

static void
job_found(struct sim *sim)
{
    const uint32_t size = 1 + pick(sim, 4);
    uint64_t ticket = 0;

    sim->n_worlds = 0;
    sim->n_lost = sim->n_left = 0;
    world_add(sim, "a", 0, size);
    for (uint32_t rank = 0; rank < size; rank++) {
        const uint32_t process = sim->n_processes++;
        struct cluster_event event = fixture_join_event(process, rank, size);

        event.join.incarnation = incarnation(sim->worlds[0].number, process);
        ticket = take_step(sim, event);
        sim->fates[process] = FATE_LIVES;
        sim->worlds[0].processes[rank] = process;
        sim->worlds[0].is_in[rank] = true;
    }
    sim->worlds[0].epoch = fixture_reply(&sim->f, ticket)->world.epoch;
}

static struct cluster_event
in_world(const struct sim *sim, uint32_t world, struct cluster_event event)
{
    event.job = sim->worlds[world].name;
    return event;
}

/* One membership, and with the last of them the process. */
static void
membership_leave(struct sim *sim, uint32_t w, uint32_t rank)
{
    struct world *world = &sim->worlds[w];
    const uint32_t process = world->processes[rank];

    take_step(sim,
              in_world(sim, w,
                       (struct cluster_event){
                           .kind = CLUSTER_LEAVE,
                           .member = {world->epoch,
                                      incarnation(world->number, process)}}));
    world->is_in[rank] = false;
    if (is_anywhere(sim, process))
        return;
    sim->fates[process] = FATE_LEFT;
    sim->n_left++;
    sim->n_leaves++;
}

static void
some_leave(struct sim *sim)
{
    const uint32_t w = pick(sim, sim->n_worlds);
    const uint32_t rank = pick(sim, sim->worlds[w].size);
    const uint32_t process = sim->worlds[w].processes[rank];

    if (!sim->worlds[w].is_in[rank])
        return;
    if (pick(sim, 2) == 0) {
        membership_leave(sim, w, rank);
        return;
    }
    for (uint32_t other = sim->n_worlds; other-- > 0;)
        for (uint32_t r = 0; r < sim->worlds[other].size; r++)
            if (sim->worlds[other].is_in[r] &&
                sim->worlds[other].processes[r] == process)
                membership_leave(sim, other, r);
}

/* Every other member of each of its worlds says so, the oldest world or the
 * newest first. */
static void
process_die(struct sim *sim, uint32_t victim)
{
    const bool is_newest_first = pick(sim, 2) == 0;
    bool is_told = false;

    for (uint32_t i = 0; i < sim->n_worlds; i++) {
        const uint32_t at = is_newest_first ? sim->n_worlds - 1 - i : i;
        const struct world *world = &sim->worlds[at];

        for (uint32_t rank = 0; rank < world->size; rank++)
            for (uint32_t by = 0; by < world->size; by++) {
                if (world->processes[rank] != victim || !world->is_in[rank] ||
                    !world->is_in[by] || by == rank)
                    continue;
                take_step(
                    sim,
                    in_world(
                        sim, at,
                        (struct cluster_event){
                            .kind = CLUSTER_REPORT,
                            .report = {
                                .reporter = {world->epoch,
                                             incarnation(world->number,
                                                         world->processes[by])},
                                .rank = rank,
                                .identity = identity_of_incarnation(
                                    incarnation(world->number, victim)),
                                .reason = "killed"}}));
                is_told = true;
            }
    }
    if (!is_told)
        return;
    for (uint32_t at = 0; at < sim->n_worlds; at++)
        for (uint32_t rank = 0; rank < sim->worlds[at].size; rank++)
            if (sim->worlds[at].processes[rank] == victim)
                sim->worlds[at].is_in[rank] = false;
    sim->fates[victim] = FATE_LOST;
    sim->n_lost++;
    sim->n_deaths++;
}

static void
some_die(struct sim *sim)
{
    const uint32_t w = pick(sim, sim->n_worlds);
    const uint32_t rank = pick(sim, sim->worlds[w].size);

    if (sim->worlds[w].is_in[rank])
        process_die(sim, sim->worlds[w].processes[rank]);
}

/* Nobody grows: it is refused. */
static void
some_come(struct sim *sim)
{
    struct cluster_event event = fixture_join_event(
        sim->n_processes, CLUSTER_RANK_ANY, sim->worlds[0].size);
    const uint64_t ticket = take_step(sim, event);

    sim->n_refused++;
    EXPECT(sim, strstr(fixture_reply(&sim->f, ticket)->text, "is full"));
}

/* What a growth is made of. */
struct growth {
    uint32_t members[SIZE_MAX_SIM];
    uint32_t member_ranks[SIZE_MAX_SIM]; /* in the world that they come from */
    uint32_t n_members;
    uint32_t newcomers[SIZE_MAX_SIM];
    uint32_t wishes[SIZE_MAX_SIM];
    uint32_t n_newcomers;
    uint64_t tickets[SIZE_MAX_SIM]; /* members' first */
    char name[32];
};

static void
member_join(struct sim *sim, struct growth *growth, uint32_t w, uint32_t i)
{
    const uint32_t size = growth->n_members + growth->n_newcomers;
    struct cluster_event event =
        fixture_join_event(growth->members[i], i, size);

    event.job = growth->name;
    event.client = 1000 + i;
    event.join.root = "a";
    event.join.incarnation = incarnation(sim->n_names, growth->members[i]);
    event.join.membership =
        incarnation(sim->worlds[w].number, growth->members[i]);
    event.join.size_min = growth->n_members + 1;
    event.join.settle_ms = LEASE_MS;
    growth->tickets[i] = take_step(sim, event);
}

static void
newcomer_join(struct sim *sim, struct growth *growth, uint32_t i)
{
    struct cluster_event event = fixture_join_event(
        growth->newcomers[i], growth->wishes[i], growth->n_members);

    event.client = 2000 + i;
    event.join.incarnation = incarnation(sim->n_names, growth->newcomers[i]);
    growth->tickets[growth->n_members + i] = take_step(sim, event);
}

/* Survivors of the present world, as a shrink numbers them, and some who
 * come. */
static bool
growth_draw(struct sim *sim, struct growth *growth, uint32_t w)
{
    const struct world *world = &sim->worlds[w];
    bool is_taken[SIZE_MAX_SIM] = {0};

    for (uint32_t rank = 0; rank < world->size; rank++)
        if (world->is_in[rank])
            growth->members[growth->n_members++] = world->processes[rank];
    if (growth->n_members >= SIZE_MAX_SIM - 1)
        return false;
    growth->n_newcomers = 1 + pick(sim, SIZE_MAX_SIM - growth->n_members - 1);
    for (uint32_t i = 0; i < growth->n_newcomers; i++) {
        const uint32_t wish =
            growth->n_members + pick(sim, growth->n_newcomers);

        growth->newcomers[i] = sim->n_processes++;
        growth->wishes[i] = CLUSTER_RANK_ANY;
        if (pick(sim, 2) == 0 && !is_taken[wish]) {
            growth->wishes[i] = wish;
            is_taken[wish] = true;
        }
    }
    snprintf(growth->name, sizeof(growth->name), "a+%u", sim->n_names);
    return true;
}

/* Members have their order, newcomers their wishes, or in the order in which
 * they came the ranks that are left. */
static void
growth_enter(struct sim *sim, const struct growth *growth)
{
    const uint32_t size = growth->n_members + growth->n_newcomers;
    const struct cluster_join_result *told =
        &fixture_reply(&sim->f, growth->tickets[0])->world;
    struct world *world = &sim->worlds[sim->n_worlds];
    uint32_t n_free = growth->n_members;

    EXPECT(sim, told->size == size);
    EXPECT(sim, sim->n_worlds == 0 ||
                    told->epoch > sim->worlds[sim->n_worlds - 1].epoch);
    world_add(sim, growth->name, told->epoch, size);
    for (uint32_t i = 0; i < growth->n_members; i++) {
        world->processes[i] = growth->members[i];
        world->is_in[i] = true;
    }
    for (uint32_t i = 0; i < growth->n_newcomers; i++)
        if (growth->wishes[i] != CLUSTER_RANK_ANY) {
            world->processes[growth->wishes[i]] = growth->newcomers[i];
            world->is_in[growth->wishes[i]] = true;
        }
    for (uint32_t i = 0; i < growth->n_newcomers; i++) {
        sim->fates[growth->newcomers[i]] = FATE_LIVES;
        if (growth->wishes[i] != CLUSTER_RANK_ANY)
            continue;
        while (world->is_in[n_free])
            n_free++;
        world->processes[n_free] = growth->newcomers[i];
        world->is_in[n_free] = true;
    }
    for (uint32_t rank = 0; rank < size; rank++)
        EXPECT(sim, told->roster[rank].pid == world->processes[rank]);
    for (uint32_t i = 0; i < size; i++)
        EXPECT(sim,
               strcmp(fixture_reply(&sim->f, growth->tickets[i])->world.job,
                      growth->name) == 0);
    sim->n_grown++;
}

static void
coordinator_restart(struct sim *sim)
{
    struct cluster_options options = record_store_options(sim->f.now_ns);

    options.lease_ms = LEASE_MS;
    cluster_destroy(sim->f.cluster);
    sim->f.actions = (struct cluster_actions){0};
    assert_ok(cluster_create(&options, &sim->f.cluster));
    assert_ok(record_store_recover(&sim->record_store, sim->f.cluster));
    sim->n_restarts++;
}

/* All who wait withdraw, newcomers first or last. */
static void
growth_abandon(struct sim *sim)
{
    const uint64_t first = pick(sim, 2) == 0 ? 1000 : 2000;

    for (uint64_t client = 0; client < SIZE_MAX_SIM; client++)
        take_step(sim, (struct cluster_event){.kind = CLUSTER_DISCONNECT,
                                              .client = first + client});
    for (uint64_t client = 0; client < SIZE_MAX_SIM; client++)
        take_step(sim, (struct cluster_event){.kind = CLUSTER_DISCONNECT,
                                              .client = 3000 - first + client});
    sim->n_names++;
    sim->n_in_vain++;
}

/* Whether those who are there are a world, with the ranks that they wish. */
static bool
growth_suffices(const struct growth *growth)
{
    const uint32_t size = growth->n_members + growth->n_newcomers;

    for (uint32_t i = 0; i < growth->n_newcomers; i++)
        if (growth->wishes[i] != CLUSTER_RANK_ANY && growth->wishes[i] >= size)
            return false;
    return growth->n_newcomers > 0;
}

/* Nobody else comes until the deadline of all. */
static void
growth_wait(struct sim *sim, struct growth *growth, bool is_member_missing)
{
    sim->f.now_ns += 61 * FIXTURE_S;
    take_step(sim, (struct cluster_event){.kind = CLUSTER_TICK});
    if (!is_member_missing && growth_suffices(growth)) {
        growth_enter(sim, growth);
        sim->n_fewer++;
        return;
    }
    for (uint32_t i = 0; i < growth->n_members + growth->n_newcomers; i++) {
        const bool is_member = i < growth->n_members;

        if (i + 1 == growth->n_members && is_member_missing)
            continue;
        EXPECT(sim, fixture_reply(&sim->f, growth->tickets[i])->status ==
                        (is_member ? HOOP_E_TIMEOUT : HOOP_E_UNAVAILABLE));
    }
    sim->n_names++;
    sim->n_late++;
}

/* A member dies, and the others have to begin anew. */
static void
growth_lose(struct sim *sim, const struct growth *growth)
{
    const uint64_t n_waiters = cluster_counters(sim->f.cluster)->waiters;
    const uint32_t victim = growth->members[pick(sim, growth->n_members)];

    process_die(sim, victim);
    if (sim->fates[victim] == FATE_LOST)
        EXPECT(sim, cluster_counters(sim->f.cluster)->waiters == n_waiters - 1);
    growth_abandon(sim);
}

/* All ask again, members first: the coordinator was another, or their
 * connections were. */
static void
growth_repeat(struct sim *sim,
              struct growth *growth,
              uint32_t w,
              uint32_t n_newcomers)
{
    const bool is_known = pick(sim, 2) == 0;

    if (!is_known)
        coordinator_restart(sim);
    for (uint32_t i = 0; i < growth->n_members + n_newcomers; i++) {
        const uint64_t former = growth->tickets[i];

        if (i < growth->n_members)
            member_join(sim, growth, w, i);
        else
            newcomer_join(sim, growth, i - growth->n_members);
        EXPECT(sim, !is_known || fixture_reply(&sim->f, former)->status ==
                                     HOOP_E_CANCELLED);
    }
}

enum turn {
    TURN_WITHDRAWAL,
    TURN_DEADLINE,
    TURN_DEATH,
    TURN_REPEAT,
    TURN_NONE,
    N_TURNS = 12,
};

static void
some_grow(struct sim *sim)
{
    const uint32_t w = (uint32_t)present(sim);
    const enum turn turn = (enum turn)pick(sim, N_TURNS);
    const bool is_member_missing = turn == TURN_DEADLINE && pick(sim, 4) == 0;
    struct growth growth = {0};
    uint32_t n_newcomers = 0;

    if (!growth_draw(sim, &growth, w))
        return;
    for (uint32_t i = 0; i + is_member_missing < growth.n_members; i++) {
        member_join(sim, &growth, w, i);
        while (n_newcomers + 1 < growth.n_newcomers && pick(sim, 2) == 0)
            newcomer_join(sim, &growth, n_newcomers++);
    }
    /* The last one makes it whole. */
    if (turn == TURN_REPEAT)
        growth_repeat(sim, &growth, w, n_newcomers);
    while (n_newcomers + (turn < TURN_REPEAT ? 1 : 0) < growth.n_newcomers)
        newcomer_join(sim, &growth, n_newcomers++);
    growth.n_newcomers = n_newcomers;
    if (turn == TURN_WITHDRAWAL)
        growth_abandon(sim);
    else if (turn == TURN_DEADLINE)
        growth_wait(sim, &growth, is_member_missing);
    else if (turn == TURN_DEATH)
        growth_lose(sim, &growth);
    else
        growth_enter(sim, &growth);
}

/* Worlds in which nobody is any more do not come back. */
static void
worlds_forget(struct sim *sim)
{
    if (sim->n_worlds == 0 || present(sim) >= 0)
        return;
    sim->n_worlds = 0;
    sim->n_ends++;
}

static uint32_t
living_count(const struct sim *sim)
{
    uint32_t n_living = 0;

    for (uint32_t process = 0; process < sim->n_processes; process++)
        n_living += sim->fates[process] == FATE_LIVES;
    return n_living;
}

static void
line_check(struct sim *sim)
{
    const uint64_t ticket =
        take_step(sim, (struct cluster_event){.kind = CLUSTER_JOBS});
    const struct cluster_jobs *jobs = &fixture_reply(&sim->f, ticket)->jobs;
    const struct cluster_job_summary *line = &jobs->items[0];
    const uint32_t n_living = living_count(sim);

    for (size_t i = 1; i < jobs->n_items; i++)
        EXPECT(sim, jobs->items[i].state == CLUSTER_JOB_ENDED);
    EXPECT(sim, cluster_counters(sim->f.cluster)->members == n_living);
    EXPECT(sim, cluster_counters(sim->f.cluster)->jobs == (n_living > 0));
    if (n_living == 0)
        return;
    const struct world *world = &sim->worlds[present(sim)];

    EXPECT(sim, strcmp(line->name, "a") == 0);
    EXPECT(sim, line->state == CLUSTER_JOB_RUNNING);
    EXPECT(sim, line->epoch == world->epoch);
    EXPECT(sim, line->size == world->size);
    EXPECT(sim, line->n_members == n_living);
    EXPECT(sim, line->n_lost == sim->n_lost);
    EXPECT(sim, line->n_left == sim->n_left);
}

static void
members_check(struct sim *sim)
{
    const struct world *world = &sim->worlds[present(sim)];
    const uint64_t ticket =
        take_step(sim, (struct cluster_event){.kind = CLUSTER_JOB});
    const struct cluster_job_detail *job = &fixture_reply(&sim->f, ticket)->job;

    EXPECT(sim, job->n_members == world->size);
    for (uint32_t rank = 0; rank < world->size; rank++) {
        EXPECT(sim, job->members[rank].pid == world->processes[rank]);
        EXPECT(sim, (job->members[rank].state == CLUSTER_MEMBER_ACTIVE) ==
                        world->is_in[rank]);
    }
}

static void
state_check(struct sim *sim)
{
    EXPECT(sim, cluster_counters(sim->f.cluster)->waiters == 0);
    EXPECT(sim, sim->n_told_lost == sim->n_deaths);
    EXPECT(sim, sim->n_told_left == sim->n_leaves);
    EXPECT(sim, sim->n_told_ended == sim->n_ends);
    line_check(sim);
    if (sim->n_worlds > 0)
        members_check(sim);
}

static void
step_play(struct sim *sim)
{
    if (sim->n_worlds == 0) {
        job_found(sim);
        return;
    }
    switch (pick(sim, 12)) {
    case 0:
    case 1:
    case 2:
    case 3:
        some_leave(sim);
        return;
    case 4:
    case 5:
    case 6:
        some_die(sim);
        return;
    case 7:
        some_come(sim);
        return;
    case 8:
        coordinator_restart(sim);
        return;
    default:
        some_grow(sim);
        return;
    }
}

static void
sim_play(struct sim *sim, uint64_t seed)
{
    struct cluster_options options = record_store_options(FIXTURE_S);

    *sim = (struct sim){.seed = seed,
                        .random = seed * 0x9e3779b97f4a7c15U + 1,
                        .f.now_ns = FIXTURE_S};
    options.lease_ms = LEASE_MS;
    assert_ok(cluster_create(&options, &sim->f.cluster));
    for (sim->step = 0; sim->step < N_STEPS; sim->step++) {
        step_play(sim);
        worlds_forget(sim);
        state_check(sim);
    }
    fixture_deinit(&sim->f);
    record_store_deinit(&sim->record_store);
}

int
main(int n_arguments, char **arguments)
{
    struct sim *sim = calloc(1, sizeof(*sim));
    uint64_t first = 1;
    uint64_t last = N_SEEDS;
    uint64_t n_grown = 0;
    uint64_t n_restarts = 0;
    uint64_t n_deaths = 0;
    uint64_t n_ends = 0;
    uint64_t n_late = 0;
    uint64_t n_fewer = 0;

    if (!sim)
        return EXIT_FAILURE;
    if (n_arguments > 1)
        first = last = strtoull(arguments[1], NULL, 10);
    for (uint64_t seed = first; seed <= last; seed++) {
        sim_play(sim, seed);
        n_grown += sim->n_grown;
        n_restarts += sim->n_restarts;
        n_deaths += sim->n_deaths;
        n_ends += sim->n_ends;
        n_late += sim->n_late;
        n_fewer += sim->n_fewer;
    }
    printf("%llu steps: %llu grown, %llu restarts, %llu deaths, %llu jobs "
           "ended\n",
           (unsigned long long)(last - first + 1) * N_STEPS,
           (unsigned long long)n_grown, (unsigned long long)n_restarts,
           (unsigned long long)n_deaths, (unsigned long long)n_ends);
    free(sim);

    /* A simulation in which nothing happens proves nothing. */
    return n_grown && n_restarts && n_deaths && n_ends && n_late && n_fewer
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}
