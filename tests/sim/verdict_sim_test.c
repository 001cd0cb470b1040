/*
 * tests/sim/verdict_sim_test.c - all who are left blame the same
 *
 * A world of three to five ranks, to which one to three things happen: one
 * dies, one stands still, a connection between two that live breaks, one is cut
 * off from some or all, the coordinator is away. Or a rank loses all its peers,
 * both ways or one, and not the coordinator: then it goes, and nobody else.
 * Letters are late, and come in any order but that of their connection. When
 * all is over, those that live and were not found lost know the same lost
 * ranks, and so does the coordinator; who died is among them, and nobody to
 * whom nothing has happened. Every seed is a schedule: verdict_sim_test SEED
 * plays one again, verdict_sim_test FIRST LAST many.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verdict_sim.h"

enum {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    N_SEEDS = 1000,
#else
    N_SEEDS = 6000,
#endif
    BEGIN_MS = 1000,
    HARM_MS = 4000, /* in which it happens */
    LOOK_MS = 250,  /* after which silence is noticed, at most */
    CALM_MS = 40000,
};

struct sim *sim;

void
sim_expect(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "seed %llu, after %.3f ms: %s\n",
            (unsigned long long)sim->seed, (double)sim->now_ns / 1e6, what);
    for (uint32_t i = 0; i < sim->size; i++) {
        const struct sim_rank *sim_rank = &sim->ranks[i];

        fprintf(stderr, "rank %u%s%s%s:", i, sim_rank->is_dead ? ", dead" : "",
                sim_rank->is_disturbed ? ", disturbed" : "",
                coordinator_lost(i) ? ", lost to the coordinator" : "");
        for (uint32_t j = 0; j < sim->size; j++) {
            if (sim_rank->lost[j].is_lost)
                fprintf(stderr, " [%u: %s]", j, sim_rank->lost[j].why);
        }
        fputc('\n', stderr);
    }
    exit(EXIT_FAILURE);
}

uint64_t
sim_random(uint64_t n)
{
    sim->random ^= sim->random << 13;
    sim->random ^= sim->random >> 7;
    sim->random ^= sim->random << 17;
    return (sim->random >> 11) % n;
}

void
sim_post(const struct sim_message *message)
{
    uint64_t *last_ns = &sim->last_ns[message->from][message->to];
    const uint64_t cut_ns = sim->cut_until_ns[message->from][message->to];
    uint64_t due_ns = sim->now_ns > cut_ns ? sim->now_ns : cut_ns;

    sim_expect(sim->n_messages < SIM_MESSAGES_MAX, "too many letters");
    due_ns += 20000 + sim_random(sim->slowest_ns);
    if (due_ns <= *last_ns)
        due_ns = *last_ns + 1;
    *last_ns = due_ns;
    sim->messages[sim->n_messages] = *message;
    sim->messages[sim->n_messages].due_ns = due_ns;
    sim->messages[sim->n_messages++].order = ++sim->order;
}

void
sim_post_at(const struct sim_message *message, uint64_t due_ns)
{
    sim_expect(sim->n_messages < SIM_MESSAGES_MAX, "too many letters");
    sim->messages[sim->n_messages] = *message;
    sim->messages[sim->n_messages].due_ns = due_ns;
    sim->messages[sim->n_messages++].order = ++sim->order;
}

/* Nothing has come of rank for so long, everybody who looks finds. */
static void
silence_plan(uint32_t rank)
{
    for (uint32_t i = 0; i < sim->size; i++) {
        struct sim_message *message = &sim->messages[sim->n_messages];

        if (i == rank)
            continue;
        sim->silent_from_ns[i][rank] = sim->now_ns;
        sim_expect(sim->n_messages < SIM_MESSAGES_MAX, "too many letters");
        *message = (struct sim_message){
            .kind = SIM_SILENCE,
            .from = (int)i,
            .to = (int)i,
            .rank = rank,
            .due_ns = sim->now_ns + FAILURE_MS * SIM_MS +
                      sim_random(LOOK_MS * SIM_MS),
            .order = ++sim->order,
            .why = "no sign of life for 2.0 s",
        };
        sim->n_messages++;
    }
}

static void
one_way_cut(int from, int to, uint64_t until_ns)
{
    sim->cut_until_ns[from][to] = until_ns;
    /* What is under way does not get through either. */
    for (size_t i = 0; i < sim->n_messages; i++) {
        struct sim_message *message = &sim->messages[i];

        if (message->from != from || message->to != to ||
            message->due_ns >= until_ns)
            continue;
        message->due_ns = until_ns + message->order % SIM_MS;
        if (sim->last_ns[message->from][message->to] < message->due_ns)
            sim->last_ns[message->from][message->to] = message->due_ns;
    }
}

static void
cut(int one, int other, uint64_t until_ns)
{
    one_way_cut(one, other, until_ns);
    one_way_cut(other, one, until_ns);
}

/* Rank hears nobody, or (half of the time) only some. */
static void
rank_cut_off(uint32_t rank)
{
    const uint64_t until_ns = sim->now_ns + sim_random(4000 * SIM_MS);
    const bool is_whole = sim_random(2);

    for (uint32_t i = 0; i < sim->size; i++) {
        if (i == rank || (!is_whole && sim_random(2)))
            continue;
        cut((int)rank, (int)i, until_ns);
        /* Long enough, and either may be the first to be heard again. */
        sim->ranks[i].is_disturbed |=
            !is_whole || until_ns > sim->now_ns + FAILURE_MS * SIM_MS;
    }
    if (is_whole || sim_random(2))
        cut((int)rank, COORDINATOR, until_ns);
    silence_plan(rank);
    for (uint32_t i = 0; i < sim->size; i++)
        if (i != rank)
            silence_plan(i);
    sim->ranks[rank].is_disturbed = true;
}

static void
connection_break(uint32_t one, uint32_t other)
{
    const uint32_t ends[2] = {one, other};

    if (one == other || sim->ranks[one].is_gone[other] ||
        sim->ranks[other].is_gone[one])
        return;
    for (int i = 0; i < 2; i++) {
        sim->ranks[ends[i]].is_disturbed = true;
        sim_post(&(struct sim_message){.kind = SIM_BREAK,
                                       .from = (int)ends[1 - i],
                                       .to = (int)ends[i],
                                       .why = "connection reset"});
    }
}

/* Back just as it is accused, it finds another who is about to give itself
 * up. */
static void
rank_stand_still(uint32_t rank)
{
    const uint64_t for_ms = sim_random(6000);
    const bool is_close =
        for_ms >= FAILURE_MS && for_ms < FAILURE_MS + 2 * LOOK_MS;

    for (uint32_t i = 0; i < sim->size; i++)
        sim->ranks[i].is_disturbed |= i == rank || is_close;
    sim->still_until_ns[rank] = sim->now_ns + for_ms * SIM_MS;
    silence_plan(rank);
}

/* From its peers, both ways or one, and not from the coordinator, for longer
 * than anybody waits: it goes, and it alone. */
static void
rank_lose_peers(uint32_t rank)
{
    const uint64_t until_ns = sim->now_ns + 3 * FAILURE_MS * SIM_MS;
    const uint64_t way = sim_random(3);

    for (uint32_t i = 0; i < sim->size; i++) {
        if (i == rank)
            continue;
        if (way != 1)
            one_way_cut((int)rank, (int)i, until_ns);
        if (way != 2)
            one_way_cut((int)i, (int)rank, until_ns);
    }
    for (uint32_t i = 0; i < sim->size; i++)
        silence_plan(i);
    sim->ranks[rank].is_disturbed = true;
    sim->outcast = (int)rank;
}

static void
harm_do(void)
{
    const uint32_t rank = (uint32_t)sim_random(sim->size);

    switch (sim_random(6)) {
    case 0:
    case 1:
        sim->ranks[rank].is_disturbed = true;
        if (!sim->ranks[rank].is_dead)
            sim_rank_die(rank);
        return;
    case 2:
        rank_stand_still(rank);
        return;
    case 3:
        connection_break(rank, (uint32_t)sim_random(sim->size));
        return;
    case 4:
        rank_cut_off(rank);
        return;
    case 5: /* no longer than a report is repeated */
        sim->still_until_ns[COORDINATOR] =
            sim->now_ns + sim_random(3000 * SIM_MS);
        return;
    }
}

/* The first message that is due by then, or NULL. */
static struct sim_message *
next_message(uint64_t until_ns)
{
    struct sim_message *next = NULL;

    for (size_t i = 0; i < sim->n_messages; i++) {
        struct sim_message *message = &sim->messages[i];

        if (message->due_ns < sim->still_until_ns[message->to])
            message->due_ns = sim->still_until_ns[message->to];
        if (message->due_ns <= until_ns &&
            (!next || message->due_ns < next->due_ns ||
             (message->due_ns == next->due_ns && message->order < next->order)))
            next = message;
    }
    return next;
}

static uint64_t
tick_due_ns(void)
{
    const uint64_t due_ns = cluster_next_deadline_ns(sim->cluster);

    return due_ns < sim->still_until_ns[COORDINATOR]
               ? sim->still_until_ns[COORDINATOR]
               : due_ns;
}

static void
command_execute(struct sim_message *at)
{
    const struct sim_message message = *at;

    *at = sim->messages[--sim->n_messages];
    if (message.to == COORDINATOR)
        coordinator_take(&message);
    else
        sim_rank_take((uint32_t)message.to, &message);
}

/* Whatever comes first, but not after until_ns. */
static bool
sim_move(uint64_t until_ns)
{
    uint64_t next_ns = tick_due_ns();
    int first = COORDINATOR;

    for (uint32_t rank = 0; rank < sim->size; rank++) {
        if (sim_rank_due_ns(rank) < next_ns) {
            next_ns = sim_rank_due_ns(rank);
            first = (int)rank;
        }
    }
    struct sim_message *message = next_message(next_ns);
    if (message)
        next_ns = message->due_ns;
    if (next_ns > until_ns) {
        sim->now_ns = until_ns;
        return false;
    }
    if (next_ns > sim->now_ns)
        sim->now_ns = next_ns;
    if (message)
        command_execute(message);
    else if (first == COORDINATOR)
        coordinator_tick();
    else
        sim_rank_wake((uint32_t)first);
    return true;
}

static bool
is_left(uint32_t rank)
{
    const struct sim_rank *sim_rank = &sim->ranks[rank];

    return !sim_rank->is_dead && !sim_rank->lost[rank].is_lost;
}

static void
verdicts_compare(void)
{
    uint32_t n_left = 0;
    uint32_t n_undisturbed = 0;

    for (uint32_t rank = 0; rank < sim->size; rank++) {
        const struct sim_rank *sim_rank = &sim->ranks[rank];

        n_undisturbed += !sim_rank->is_disturbed;
        sim_expect(sim_rank->is_disturbed || is_left(rank),
                   "one is lost to whom nothing has happened");
        sim_expect(!sim_rank->is_dead || coordinator_lost(rank),
                   "the dead are with the living");
        if (!is_left(rank))
            continue;
        n_left++;
        /* The job has ended with the last: there was nobody to be told. */
        if (sim->n_lost == sim->size)
            continue;
        sim_expect(!coordinator_lost(rank), "one is lost and does not know");
        for (uint32_t other = 0; other < sim->size; other++) {
            sim_expect(!sim_rank->lost[other].is_suspect, "a suspicion stays");
            sim_expect(sim_rank->lost[other].is_lost == coordinator_lost(other),
                       "two do not blame the same");
        }
    }
    sim_expect(n_left > 0 || n_undisturbed == 0, "nobody is left");
    sim_expect(sim->outcast < 0 || coordinator_lost((uint32_t)sim->outcast),
               "a rank that is cut off from all others stays");
}

static void
sim_play(uint64_t seed)
{
    memset(sim, 0, sizeof(*sim));
    sim->seed = seed;
    sim->random = seed * 0x9e3779b97f4a7c15U + 1;
    sim_random(2);
    sim->now_ns = 1000 * SIM_MS;
    sim->size = 3 + (uint32_t)sim_random(SIM_RANKS_MAX - 2);
    sim->slowest_ns = (1 + sim_random(30)) * SIM_MS;
    sim->see_each_other = sim_random(2);
    sim->outcast = -1;
    coordinator_create();
    for (uint32_t rank = 0; rank < sim->size; rank++)
        sim_rank_create(rank);

    uint64_t harm_ns = sim->now_ns + BEGIN_MS * SIM_MS;

    if (sim_random(4) == 0) {
        while (sim_move(harm_ns))
            continue;
        rank_lose_peers((uint32_t)sim_random(sim->size));
    }
    for (uint64_t n = sim->outcast < 0 ? 1 + sim_random(3) : 0; n > 0; n--) {
        while (sim_move(harm_ns))
            continue;
        harm_do();
        harm_ns += sim_random(HARM_MS * SIM_MS);
    }
    const uint64_t end_ns = sim->now_ns + CALM_MS * SIM_MS;
    while (sim_move(end_ns))
        continue;
    verdicts_compare();
    for (uint32_t rank = 0; rank < sim->size; rank++)
        sim_rank_destroy(rank);
    cluster_destroy(sim->cluster);
}

int
main(int n_arguments, char **arguments)
{
    uint64_t first = 1;
    uint64_t last = N_SEEDS;
    uint64_t n_lost = 0;

    sim = calloc(1, sizeof(*sim));
    if (!sim)
        return EXIT_FAILURE;
    if (n_arguments > 1)
        first = last = strtoull(arguments[1], NULL, 10);
    if (n_arguments > 2)
        last = strtoull(arguments[2], NULL, 10);
    for (uint64_t seed = first; seed <= last; seed++) {
        sim_play(seed);
        n_lost += sim->n_lost;
    }
    printf("%llu seeds: %llu lost, all blame the same\n",
           (unsigned long long)(last - first + 1), (unsigned long long)n_lost);
    free(sim);
    return n_lost > 0 || n_arguments > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
