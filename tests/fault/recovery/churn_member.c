/*
 * tests/fault/recovery/churn_member.c - a member that may die and be replaced
 *
 * churn_member BOARD SLOT ID SIZE founder|newcomer: the program joins the job
 * and calls collectives without pause. It checks every result, and may be
 * killed at any moment. The survivors shrink, or go on by themselves if
 * HOOP_ON_FAILURE is retry. They grow, up to SIZE, as soon as a newcomer waits.
 * The board is a file that all processes share. It has a head for all of them
 * (whether to stop, and how many wait) and then a line for each slot, to which
 * the member writes its progress.
 */

#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "hoop/hoop.h"

/*
 * The oracle computes what a collective must return on each rank.
 *
 * Every process has an ID of its own, from which the values that it contributes
 * follow. When a communicator begins, its members exchange their IDs. After
 * each call the library names the contributors, and the oracle recomputes the
 * result from exactly these. The results differ if a dead member still counts,
 * if a member counts twice, or if one is not named.
 */

enum {
    ORACLE_RANKS = 64, /* of a world */
    ORACLE_COUNT = 20000,
};

struct oracle {
    uint64_t id;
    uint64_t step; /* the same on all members; each call has other values */
    bool is_new;   /* has not shared a communicator with others yet */

    uint64_t ids[ORACLE_RANKS]; /* by rank in the world; 0: unknown */
    bool is_all_new;            /* no member was there before */
    uint64_t n_calls;           /* calls that succeeded */
    uint64_t n_wrong;
};

/* Rank 0 tells this to all members with any call. */
struct oracle_wish {
    uint64_t mine;
    uint64_t all; /* the sum of mine over all members */
};

enum {
    WORDS = 3, /* the words of an allgather: ID, step, newness */
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

/* The library names these contributors. */
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

/* Reports a wrong result, and the contributors that were named. */
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

/* Exchanges the IDs of the members of comm, and takes the greatest step.
 * Returns the status of the collective. */
static enum hoop_status
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
    /* The new step is beyond any that one of them may have begun. */
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

/* Everything random follows from the step, which is the same on all members. */
static enum hoop_status
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

enum {
    SLOTS = 64,
    HEAD = 8, /* words before the first line */
    LINE = 16,
    GROW_MS = 800,
    JOIN_MS = 60000,
    TRIES = 20, /* of a recovery */
    REFUSED_US = 20000,
    HEAP_CALLS = 16, /* the heap is measured once per so many calls */
};

static const uint64_t WISH_STOP = 1U << 16;

/* These are the words of the head. */
enum {
    HEAD_STOP,
    HEAD_WAITING,
};

/* These are the words of a line. */
enum {
    LINE_STATE,
    LINE_CALLS,
    LINE_WRONG,
    LINE_SHRUNK,
    LINE_GROWN,
    LINE_BARREN, /* growths to which no newcomer came, or that failed */
    LINE_SEEN_NS,
    LINE_JOINED,   /* how often the member has joined */
    LINE_ORPHANED, /* joins after which no other member was there */
    LINE_SIZE,
    LINE_HEAP_KIB, /* the heap memory in use */
};

enum member_state {
    MEMBER_JOINING = 1,
    MEMBER_IN,
    MEMBER_DONE,
};

struct churn_member {
    volatile uint64_t *head;
    volatile uint64_t *line;
    uint32_t size;
    bool retries;
    bool was_in_vain; /* the last growth */
    hoop_session_t *session;
    hoop_comm_t *comm;
    struct oracle oracle;
};

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
board_write(struct churn_member *member, enum member_state state)
{
    member->line[LINE_STATE] = state;
    member->line[LINE_CALLS] = member->oracle.n_calls;
    member->line[LINE_WRONG] = member->oracle.n_wrong;
    member->line[LINE_SIZE] = hoop_comm_size(member->comm);
    member->line[LINE_SEEN_NS] = now_ns();
    if (member->oracle.n_calls % HEAP_CALLS == 0)
        member->line[LINE_HEAP_KIB] = mallinfo2().uordblks / 1024;
}

static void
board_open(struct churn_member *member, const char *path, unsigned slot)
{
    const size_t n_bytes = (HEAD + SLOTS * LINE) * sizeof(uint64_t);
    const int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0 || slot >= SLOTS)
        err(EXIT_FAILURE, "%s", path);
    void *board =
        mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (board == MAP_FAILED)
        err(EXIT_FAILURE, "%s", path);
    close(fd);
    member->head = board;
    member->line = member->head + HEAD + (size_t)slot * LINE;
}

static void
comm_change(struct churn_member *member, hoop_comm_t *comm)
{
    hoop_comm_free(member->comm);
    member->comm = comm;
}

/* Returns whether a rank is lost, or others have found that one is lost and
 * wait for this rank. */
static bool
is_interrupted(enum hoop_status status)
{
    return status == HOOP_E_PEER_LOST || status == HOOP_E_ABORTED;
}

/* Shrinks. It tries again, because a member may die during that, too. */
static enum hoop_status
shrink_surely(struct churn_member *member)
{
    enum hoop_status status = HOOP_E_ABORTED;
    hoop_comm_t *left = NULL;

    for (int i = 0; i < TRIES && is_interrupted(status); i++)
        status = hoop_comm_shrink(member->comm, &left);
    if (status != HOOP_OK)
        return status;
    member->line[LINE_SHRUNK]++;
    comm_change(member, left);
    return HOOP_OK;
}

/* Recovers until all survivors are together again. */
static enum hoop_status
recover(struct churn_member *member, enum hoop_status status)
{
    for (int i = 0; i < TRIES && is_interrupted(status); i++) {
        if (!member->retries)
            status = shrink_surely(member);
        else
            status = HOOP_OK;
        if (status == HOOP_OK)
            status = oracle_meet(&member->oracle, member->comm);
    }
    board_write(member, MEMBER_IN);
    return status;
}

/* Admits newcomers or none. All members must go on with the same
 * communicator. */
static enum hoop_status
newcomers_admit(struct churn_member *member, uint32_t n_newcomers)
{
    hoop_comm_t *grown = NULL;
    const enum hoop_status grew =
        hoop_comm_grow(member->comm, n_newcomers, GROW_MS, &grown);
    uint64_t said = grew == HOOP_OK;

    /* A member has found another one lost and shrinks the communicator. */
    if (grew == HOOP_E_ABORTED)
        return grew;
    enum hoop_status status = hoop_comm_agree(member->comm, &said);
    board_write(member, MEMBER_IN);
    if (status == HOOP_OK && said) {
        comm_change(member, grown);
        member->was_in_vain = false;
        member->line[LINE_GROWN]++;
        return oracle_meet(&member->oracle, member->comm);
    }
    member->was_in_vain = true;
    member->line[LINE_BARREN]++;
    hoop_comm_free(grown);
    return status;
}

/* Returns what rank 0 asks all members to do. On other ranks this is 0. */
static uint64_t
wish_make(const struct churn_member *member)
{
    const uint32_t size = hoop_comm_size(member->comm);
    const uint32_t n_free = member->size > size ? member->size - size : 0;
    const uint64_t n_waiting = member->head[HEAD_WAITING];

    if (hoop_comm_rank(member->comm) != 0)
        return 0;
    if (member->head[HEAD_STOP])
        return WISH_STOP;
    /* A newcomer that dies during a growth makes it fail for all, so admit
     * one. */
    if (member->was_in_vain && n_waiting > 0 && n_free > 0)
        return 1;
    return n_waiting < n_free ? n_waiting : n_free;
}

/* Calls collectives and recovers until the job stops, which gives HOOP_OK. */
static enum hoop_status
steps_make(struct churn_member *member)
{
    enum hoop_status status = HOOP_OK;

    while (status == HOOP_OK) {
        struct oracle_wish wish = {.mine = wish_make(member)};

        status = oracle_call(&member->oracle, member->comm, &wish);
        board_write(member, MEMBER_IN);
        if (status == HOOP_OK && wish.all >= WISH_STOP)
            return HOOP_OK;
        if (status == HOOP_OK && wish.all > 0)
            status = newcomers_admit(member, (uint32_t)wish.all);
        if (status != HOOP_OK)
            status = recover(member, status);
    }
    return status;
}

/* Joins until there are members to go on with. Those that a newcomer has joined
 * may be gone again. */
static enum hoop_status
join_surely(struct churn_member *member)
{
    const struct hoop_join_options options = {.world_size = member->size,
                                              .join_timeout_ms = JOIN_MS};
    const bool is_founder = !member->oracle.is_new;

    for (;;) {
        board_write(member, MEMBER_JOINING);
        enum hoop_status status = hoop_join(&options, &member->session);

        /* The job does not know yet that a place is free. */
        if (status == HOOP_E_PRECONDITION && !is_founder) {
            usleep(REFUSED_US);
            continue;
        }
        if (status != HOOP_OK)
            return status;
        member->line[LINE_JOINED]++;
        member->comm = hoop_world(member->session);
        status = oracle_meet(&member->oracle, member->comm);
        if (is_interrupted(status))
            status = recover(member, status);
        if (status != HOOP_OK)
            return status;
        if (is_founder || !member->oracle.is_all_new) {
            member->oracle.is_new = false;
            return HOOP_OK;
        }
        member->line[LINE_ORPHANED]++;
        member->comm = NULL;
        hoop_leave(member->session);
        member->session = NULL;
    }
}

int
main(int argc, char **argv)
{
    const char *remedy = getenv("HOOP_ON_FAILURE");
    struct churn_member member = {.retries =
                                      remedy && strcmp(remedy, "retry") == 0};

    /* No member outlives a run that is ended by force. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc != 6)
        errx(64, "usage: churn_member BOARD SLOT ID SIZE founder|newcomer");
    board_open(&member, argv[1], (unsigned)strtoul(argv[2], NULL, 10));
    member.oracle.id = strtoull(argv[3], NULL, 10);
    member.size = (uint32_t)strtoul(argv[4], NULL, 10);
    member.oracle.is_new = strcmp(argv[5], "newcomer") == 0;
    enum hoop_status status = join_surely(&member);
    if (status == HOOP_OK)
        status = steps_make(&member);
    board_write(&member, MEMBER_DONE);
    if (status != HOOP_OK)
        errx(EXIT_FAILURE, "id %s, step %" PRIu64 ": status %d: %s", argv[3],
             member.oracle.step, (int)status, hoop_error_text());
    hoop_leave(member.session);
    return member.oracle.n_wrong > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
