/* tests/fault/churn_oracle.c - what a collective must have given, and to whom */

#include "churn_oracle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    WORDS = 3, /* that are gathered: id, step, newness */
    STEP_LEAP = 1 << 20,
};

static uint64_t
mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

static uint64_t
element_of(uint64_t id, uint64_t step, size_t at)
{
    return mix(id ^ mix(step)) + at * (2 * id + 1);
}

/* Whom the library names. */
struct named {
    uint32_t ranks[ORACLE_RANKS];
    uint32_t n_ranks;
};

static void
contributors_get(hoop_comm_t *comm, struct named *out_named)
{
    if (hoop_comm_contributors(comm, out_named->ranks, ORACLE_RANKS,
                               &out_named->n_ranks) != HOOP_OK ||
        out_named->n_ranks > ORACLE_RANKS)
        out_named->n_ranks = 0;
}

/* It must be one that the members have met. */
static void
wrong_say(struct oracle *oracle,
          const hoop_comm_t *comm,
          const struct named *named,
          const char *what)
{
    oracle->n_wrong++;
    fprintf(stderr, "WRONG: id %" PRIu64 ", step %" PRIu64 ", %u ranks, %s: ",
            oracle->id, oracle->step, hoop_comm_size(comm), what);
    for (uint32_t i = 0; i < named->n_ranks; i++)
        fprintf(stderr, " %u=%" PRIu64, named->ranks[i],
                named->ranks[i] < ORACLE_RANKS ? oracle->ids[named->ranks[i]]
                                               : 0);
    fputc('\n', stderr);
}

static bool
named_are_known(const struct oracle *oracle, const struct named *named)
{
    for (uint32_t i = 0; i < named->n_ranks; i++) {
        if (named->ranks[i] >= ORACLE_RANKS || !oracle->ids[named->ranks[i]])
            return false;
    }
    return named->n_ranks > 0;
}

enum hoop_status
oracle_meet(struct oracle *oracle, hoop_comm_t *comm)
{
    uint64_t words[ORACLE_RANKS][WORDS] = {0};
    uint64_t mine[WORDS] = {oracle->id, oracle->step, oracle->is_new};
    struct named named;

    const enum hoop_status status =
        hoop_allgather(mine, words, WORDS, HOOP_UINT64, comm);
    if (status != HOOP_OK)
        return status;
    contributors_get(comm, &named);
    memset(oracle->ids, 0, sizeof(oracle->ids));
    oracle->is_all_new = true;
    for (uint32_t i = 0; i < named.n_ranks; i++) {
        oracle->ids[named.ranks[i]] = words[i][0];
        if (words[i][1] > oracle->step)
            oracle->step = words[i][1];
        oracle->is_all_new &= words[i][2] == 1;
    }
    /* Beyond whatever one of them may have begun. */
    oracle->step = (oracle->step / STEP_LEAP + 1) * STEP_LEAP;
    if (!named_are_known(oracle, &named))
        wrong_say(oracle, comm, &named, "members without ids");
    return HOOP_OK;
}

static enum hoop_status
sum_call(struct oracle *oracle,
         hoop_comm_t *comm,
         size_t count,
         struct oracle_wish *wish)
{
    static uint64_t values[ORACLE_COUNT];
    struct named named;
    size_t n_differ = 0;

    values[0] = wish->mine;
    for (size_t at = 1; at < count; at++)
        values[at] = element_of(oracle->id, oracle->step, at);
    const enum hoop_status status = hoop_allreduce(HOOP_IN_PLACE, values, count,
                                                   HOOP_UINT64, HOOP_SUM, comm);
    if (status != HOOP_OK)
        return status;
    contributors_get(comm, &named);
    for (size_t at = 1; at < count; at++) {
        uint64_t sum = 0;

        for (uint32_t i = 0; i < named.n_ranks; i++)
            sum += element_of(oracle->ids[named.ranks[i]], oracle->step, at);
        n_differ += sum != values[at];
    }
    if (n_differ > 0 || !named_are_known(oracle, &named))
        wrong_say(oracle, comm, &named, "a sum");
    wish->all = values[0];
    return HOOP_OK;
}

static enum hoop_status
gather_call(struct oracle *oracle, hoop_comm_t *comm)
{
    uint64_t all[ORACLE_RANKS] = {0};
    const uint64_t mine = element_of(oracle->id, oracle->step, 1);
    struct named named;
    bool differs = false;

    const enum hoop_status status =
        hoop_allgather(&mine, all, 1, HOOP_UINT64, comm);
    if (status != HOOP_OK)
        return status;
    contributors_get(comm, &named);
    for (uint32_t i = 0; i < named.n_ranks; i++)
        differs |=
            all[i] != element_of(oracle->ids[named.ranks[i]], oracle->step, 1);
    if (differs || !named_are_known(oracle, &named))
        wrong_say(oracle, comm, &named, "what was gathered");
    return HOOP_OK;
}

/* Everything that is drawn follows from the step, which all have. */
enum hoop_status
oracle_call(struct oracle *oracle, hoop_comm_t *comm, struct oracle_wish *wish)
{
    static const size_t counts[] = {2, 100, 1000, 5000, ORACLE_COUNT};
    const uint64_t chance = mix(oracle->step);
    enum hoop_status status;

    wish->all = 0;
    if (chance % 8 == 0)
        status = gather_call(oracle, comm);
    else if (chance % 8 == 1)
        status = hoop_barrier(comm);
    else
        status = sum_call(oracle, comm, counts[chance / 8 % 5], wish);
    if (status != HOOP_OK)
        return status;
    oracle->n_calls++;
    oracle->step++;
    return HOOP_OK;
}
