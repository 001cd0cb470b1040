/*
 * tests/sim/vote_sim_test.c - votes under random deaths, on a virtual clock
 *
 * Members ask for turn after turn, give up, are cut off, die and leave, and the
 * coordinator is killed and made again from its records. Whoever hears an
 * outcome hears the same; it is made of what those said who are in it; nobody
 * who lives is left out; and when nobody dies any more, all come to an end.
 * Every seed is a schedule: vote_sim_test SEED plays one again.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/identity.h"
#include "base/random.h"
#include "record_store.h"

enum {
    MEMBERS = 5,
    SEEDS = 300,
    STEPS = 200,
    TURNS_MAX = STEPS * 4,
};

struct voice {
    bool has_said;
    uint64_t flags;
};

struct turn {
    bool is_heard;
    uint64_t flags;
    uint64_t communicator;
    uint32_t n_ranks;
    uint32_t ranks[MEMBERS];
    struct voice voices[MEMBERS];
};

struct person {
    bool is_gone;     /* lost, or has left */
    uint64_t turn;    /* that it asks for, or will */
    uint64_t ticket;  /* 0: it does not wait */
    bool must_repeat; /* it was cut off: the same again */
};

struct game {
    struct fixture f;
    struct record_store record_store;
    uint64_t chance;
    uint64_t epoch;
    uint32_t kind;
    struct person people[MEMBERS];
    struct turn turns[TURNS_MAX];
};

static uint64_t first_seed = 1;

static uint64_t
drawn(struct game *game, uint64_t n)
{
    game->chance = game->chance * 6364136223846793005U + 1442695040888963407U;
    return (game->chance >> 33) % n;
}

static uint32_t
n_living(const struct game *game)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < MEMBERS; i++)
        n += !game->people[i].is_gone;
    return n;
}

static bool
is_among(const struct turn *turn, uint32_t rank)
{
    for (uint32_t i = 0; i < turn->n_ranks; i++) {
        if (turn->ranks[i] == rank)
            return true;
    }
    return false;
}

static void
outcome_first(struct game *game,
              struct turn *turn,
              const struct cluster_vote_outcome *outcome)
{
    uint64_t flags = UINT64_MAX;

    turn->is_heard = true;
    turn->flags = outcome->flags;
    turn->communicator = outcome->communicator;
    turn->n_ranks = outcome->n_ranks;
    assert_true(outcome->n_ranks > 0 && outcome->n_ranks <= MEMBERS);
    for (uint32_t i = 0; i < outcome->n_ranks; i++) {
        turn->ranks[i] = outcome->ranks[i];
        assert_true(i == 0 || turn->ranks[i] > turn->ranks[i - 1]);
        assert_true(turn->voices[turn->ranks[i]].has_said);
        flags &= turn->voices[turn->ranks[i]].flags;
    }
    assert_int_equal(flags, outcome->flags);
    assert_int_equal(outcome->communicator > 0,
                     game->kind == CLUSTER_VOTE_SHRINK);
    for (uint32_t i = 0; i < MEMBERS; i++)
        assert_true(game->people[i].is_gone || is_among(turn, i));
}

static void
outcome_hear(struct game *game,
             struct person *person,
             const struct cluster_vote_outcome *outcome)
{
    struct turn *turn = &game->turns[person->turn];

    if (!turn->is_heard)
        outcome_first(game, turn, outcome);
    assert_int_equal(turn->flags, outcome->flags);
    assert_int_equal(turn->communicator, outcome->communicator);
    assert_int_equal(turn->n_ranks, outcome->n_ranks);
    assert_memory_equal(turn->ranks, outcome->ranks,
                        turn->n_ranks * sizeof(*turn->ranks));
    assert_true(is_among(turn, (uint32_t)(person - game->people)));
    person->turn++;
    person->must_repeat = false;
}

static void
reply_hear(struct game *game,
           struct person *person,
           const struct cluster_reply *reply)
{
    const uint32_t rank = (uint32_t)(person - game->people);

    person->ticket = 0;
    switch ((int)reply->status) {
    case HOOP_OK:
        outcome_hear(game, person, &reply->outcome);
        return;
    case HOOP_E_TIMEOUT:
        game->turns[person->turn].voices[rank].has_said = false;
        person->must_repeat = false;
        return;
    default:
        assert_true(person->is_gone);
    }
}

/* A step has been made: who is answered? */
static void
replies_hear(struct game *game)
{
    record_store_apply(&game->record_store, &game->f);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        struct person *person = &game->people[i];
        const struct cluster_reply *reply =
            person->ticket ? fixture_find(&game->f, person->ticket) : NULL;

        if (reply)
            reply_hear(game, person, reply);
    }
}

static void
ask(struct game *game, uint32_t rank)
{
    struct person *person = &game->people[rank];
    struct voice *voice = &game->turns[person->turn].voices[rank];

    if (person->is_gone || person->ticket)
        return;
    if (!person->must_repeat)
        voice->flags = drawn(game, 8) | 8;
    voice->has_said = true;
    person->must_repeat = true;
    person->ticket = game->f.ticket + 1;
    fixture_step(&game->f, (struct cluster_event){
                               .kind = CLUSTER_VOTE,
                               .client = rank + 1,
                               .deadline_ns = game->f.now_ns + 1 +
                                              drawn(game, FIXTURE_S / 2),
                               .vote = {.member = {game->epoch, rank + 1},
                                        .kind = game->kind,
                                        .turn = person->turn,
                                        .flags = voice->flags,
                                        .number = person->turn},
                           });
    replies_hear(game);
}

/* By its report, or by itself. */
static void
go(struct game *game, uint32_t rank)
{
    const uint32_t other = (uint32_t)drawn(game, MEMBERS);

    if (n_living(game) < 2 || game->people[rank].is_gone ||
        game->people[other].is_gone)
        return;
    game->people[rank].is_gone = true;
    if (other == rank)
        fixture_member(&game->f, CLUSTER_LEAVE, game->epoch, rank + 1);
    else
        fixture_step(
            &game->f,
            (struct cluster_event){
                .kind = CLUSTER_REPORT,
                .report = {.reporter = {game->epoch, other + 1},
                           .rank = rank,
                           .identity = identity_of_incarnation(rank + 1),
                           .reason = "reset"},
            });
    replies_hear(game);
}

static void
cut_off(struct game *game, uint32_t rank)
{
    game->people[rank].ticket = 0;
    fixture_step(&game->f, (struct cluster_event){.kind = CLUSTER_DISCONNECT,
                                                  .client = rank + 1});
    replies_hear(game);
}

static void
coordinator_die(struct game *game)
{
    for (uint32_t i = 0; i < MEMBERS; i++)
        game->people[i].ticket = 0;
    record_store_restart(&game->record_store, &game->f);
}

static void
act(struct game *game)
{
    const uint32_t rank = (uint32_t)drawn(game, MEMBERS);
    const uint64_t choice = drawn(game, 100);

    if (choice < 70)
        ask(game, rank);
    else if (choice < 80)
        cut_off(game, rank);
    else if (choice < 83)
        go(game, rank);
    else if (choice < 86)
        coordinator_die(game);
    else
        game->f.now_ns += drawn(game, FIXTURE_S / 5);
    fixture_tick(&game->f);
    replies_hear(game);
}

/* Nobody dies any more: all that live come to the same turn. */
static void
end_reach(struct game *game)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < MEMBERS; i++) {
        if (game->people[i].turn > last)
            last = game->people[i].turn;
    }
    for (uint32_t i = 0; i < MEMBERS * 2; i++) {
        if (game->people[i % MEMBERS].turn < last)
            ask(game, i % MEMBERS);
    }
    for (uint32_t i = 0; i < MEMBERS; i++)
        assert_true(game->people[i].is_gone || game->people[i].turn == last);
}

static void
game_play(struct game *game, uint64_t seed)
{
    *game = (struct game){.chance = seed,
                          .kind = seed % 2 ? CLUSTER_VOTE_AGREE
                                           : CLUSTER_VOTE_SHRINK};
    record_store_begin(&game->f);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        const uint64_t ticket = fixture_join(&game->f, i + 1, i, MEMBERS);

        record_store_apply(&game->record_store, &game->f);
        if (i == MEMBERS - 1)
            game->epoch = fixture_reply(&game->f, ticket)->world.epoch;
        game->people[i].turn = 1;
    }
    for (int step = 0; step < STEPS; step++) {
        /* Nobody's lease ends. */
        for (uint32_t i = 0; i < MEMBERS; i++) {
            if (!game->people[i].is_gone)
                fixture_member(&game->f, CLUSTER_RENEW, game->epoch, i + 1);
            replies_hear(game);
        }
        act(game);
    }
    end_reach(game);
    fixture_deinit(&game->f);
    record_store_deinit(&game->record_store);
}

static void
survivors_hear_the_same_whoever_dies(void **state)
{
    struct game *game = malloc(sizeof(*game));

    assert_non_null(game);
    for (uint64_t i = 0; i < SEEDS; i++) {
        if (first_seed > 1)
            print_message("seed %llu\n", (unsigned long long)first_seed + i);
        game_play(game, first_seed + i);
    }
    free(game);
}

int
main(int n_arguments, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survivors_hear_the_same_whoever_dies),
    };

    if (n_arguments > 1)
        first_seed = strtoull(arguments[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
