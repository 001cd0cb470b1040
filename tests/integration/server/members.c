/*
 * tests/integration/server/members.c - many simulated members of one job
 *
 * Usage: members [MEMBERS [PROCESSES [SECONDS]]]. By default 256 simulated
 * members in 2 processes join through a real hoopd (HOOPD), each with its own
 * connection. They renew their leases for SECONDS (default 1), each as soon as
 * the last renewal is answered, and leave. The program prints what this took.
 * It fails if a member gets no answer, or the rosters differ.
 */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "integration/daemon.h"
#include "net/loop.h"
#include "rpc/messages/rendezvous_messages.h"
#include "rpc/method.h"
#include "rpc/rpc_client.h"
#include "wire/pack.h"

enum {
    PROCESSES_MAX = 64,
    CALL_MS = 300000,
    PAUSE_US = 1000,
    RENEW_MS = 3000,
};

/* All processes share it. */
struct board {
    uint64_t n_joined[PROCESSES_MAX];
    uint64_t n_renewed[PROCESSES_MAX];
    uint64_t n_left[PROCESSES_MAX];
    uint64_t roster[PROCESSES_MAX]; /* digest of the members' rosters */
    uint64_t n_bytes;               /* size of a reply */
    uint64_t renews_until_ns;       /* 0: not set yet */
};

struct member {
    struct crew *crew;
    struct rpc_client *client;
    struct join_request request;
    uint64_t epoch; /* 0: not joined */
};

/* The members of one process. */
struct crew {
    struct loop *loop;
    struct board *board;
    struct loop_timer *timer;
    unsigned process;
    uint32_t n_members;
    uint64_t epoch;
    struct member *members;
    uint64_t renew_ns; /* set when members that have joined wait for others */
};

static void
must(enum hoop_status status, const char *what, const char *why)
{
    if (status == HOOP_OK)
        return;
    fprintf(stderr, "members: %s: %s\n", what, why);
    _exit(1);
}

static void
member_call(struct member *member,
            enum method_id method,
            struct pack *pack,
            rpc_answer_fn *on_answer)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    struct rpc_call call = {
        .method = method_by_id(method)->name,
        .timeout_ms = CALL_MS,
        .on_answer = on_answer,
        .owner = member,
    };

    must(pack_take(pack, &bytes, &call.body.n_bytes), call.method, "no memory");
    call.body.bytes = bytes;
    must(rpc_client_call(member->client, &call, NULL), call.method,
         "cannot be called");
}

static void
on_left(void *owner, const struct rpc_answer *answer)
{
    struct member *member = owner;
    struct crew *crew = member->crew;

    must(answer->status, "leave", answer->message);
    if (++crew->board->n_left[crew->process] == crew->n_members)
        loop_stop(crew->loop);
}

static void
member_leave(struct member *member)
{
    const struct leave_request request = {
        .member = {member->epoch, member->request.incarnation}};
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    leave_request_encode(&request, &pack);
    member_call(member, METHOD_RENDEZVOUS_LEAVE, &pack, on_left);
}

static void
member_renew(struct member *member, rpc_answer_fn *on_answer);

/* Renews the lease while other members still join. */
static void
on_kept(void *owner, const struct rpc_answer *answer)
{
    must(answer->status, "renew", answer->message);
}

static void
on_renewed(void *owner, const struct rpc_answer *answer)
{
    struct member *member = owner;
    struct board *board = member->crew->board;

    must(answer->status, "renew", answer->message);
    board->n_renewed[member->crew->process]++;
    if (clock_is_past(board->renews_until_ns))
        member_leave(member);
    else
        member_renew(member, on_renewed);
}

static void
member_renew(struct member *member, rpc_answer_fn *on_answer)
{
    const struct renew_request request = {
        .member = {member->epoch, member->request.incarnation},
    };
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    renew_request_encode(&request, &pack);
    member_call(member, METHOD_RENDEZVOUS_RENEW, &pack, on_answer);
}

/* Only the first member of a process reads the whole roster, since the
 * coordinator is what is measured. */
static void
roster_note(struct crew *crew, const struct join_reply *reply)
{
    uint64_t digest = 1;

    for (size_t i = 0; i < reply->n_members; i++)
        digest = 31 * digest + reply->roster[i].incarnation;
    crew->board->roster[crew->process] = digest;
}

static void
on_joined(void *owner, const struct rpc_answer *answer)
{
    struct member *member = owner;
    struct crew *crew = member->crew;
    struct board *board = crew->board;
    struct join_reply reply = {0};

    must(answer->status, "join", answer->message);
    board->n_bytes = answer->body.n_bytes;
    if (board->n_joined[crew->process] == 0) {
        must(join_reply_decode(answer->body, &reply), "join", "no reply");
        roster_note(crew, &reply);
        crew->epoch = reply.epoch;
        join_reply_deinit(&reply);
    }
    member->epoch = crew->epoch;
    board->n_joined[crew->process]++;
}

static void
on_timer(void *owner)
{
    struct crew *crew = owner;

    const bool is_over = crew->board->renews_until_ns > 0;

    if (!is_over)
        loop_timer_start(crew->timer, 1);
    if (!is_over && !clock_is_past(crew->renew_ns))
        return;
    crew->renew_ns = clock_deadline_ns(RENEW_MS);
    for (uint32_t i = 0; i < crew->n_members; i++) {
        if (crew->members[i].epoch > 0)
            member_renew(&crew->members[i], is_over ? on_renewed : on_kept);
    }
}

static void
member_open(struct member *member, uint32_t rank, uint32_t world_size)
{
    const struct rpc_client_options options = {
        .loop = member->crew->loop,
        .address = hoopd.address,
        .job = "members",
        .token = "secret",
    };
    CLEANUP(pack_deinit) struct pack pack;

    member->request = (struct join_request){
        .protocol = RENDEZVOUS_PROTOCOL,
        .rank = rank,
        .world_size = world_size,
        .deadline_ms = CALL_MS,
        .pid = 4711 + rank,
        .incarnation = 0x100000000 + rank,
    };
    /* The names are as long as real ones. */
    snprintf(member->request.host, LIMIT_NAME, "worker-%u.example", rank / 8);
    snprintf(member->request.host_id, LIMIT_NAME,
             "7d1f2c5e-0000-4000-8000-%012u/net", rank / 8);
    snprintf(member->request.address, LIMIT_ADDRESS, "10.%u.%u.%u:%u",
             rank / 65536, rank / 256 % 256, rank % 256, 20000 + rank % 8);
    must(rpc_client_create(&options, &member->client), "client", "not created");
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    join_request_encode(&member->request, &pack);
    member_call(member, METHOD_RENDEZVOUS_JOIN, &pack, on_joined);
}

static void
process_group_run(struct crew *crew, uint32_t first, uint32_t world_size)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    crew->members = calloc(crew->n_members, sizeof(*crew->members));
    if (!crew->members)
        _exit(1);
    must(loop_create(&crew->loop), "loop", "not created");
    must(loop_timer_create(crew->loop, on_timer, crew, &crew->timer), "timer",
         "not created");
    loop_timer_start(crew->timer, 1);
    for (uint32_t i = 0; i < crew->n_members; i++) {
        crew->members[i].crew = crew;
        member_open(&crew->members[i], first + i, world_size);
    }
    loop_run(crew->loop);
    _exit(0);
}

static uint64_t
sum(const uint64_t *numbers, unsigned n)
{
    uint64_t total = 0;

    for (unsigned i = 0; i < n; i++)
        total += __atomic_load_n(&numbers[i], __ATOMIC_SEQ_CST);
    return total;
}

/* Returns the number after name in hoopd's status file. */
static uint64_t
hoopd_kib(const char *name)
{
    char path[64];
    char line[256];
    uint64_t kib = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)hoopd.pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, name, strlen(name)) == 0)
            (void)sscanf(line + strlen(name), ": %" SCNu64, &kib);
    }
    fclose(file);
    return kib;
}

static double
hoopd_seconds(void)
{
    char path[64];
    unsigned long user = 0;
    unsigned long kernel = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)hoopd.pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file,
                            "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u "
                            "%*u %*u %lu %lu",
                            &user, &kernel),
                     2);
    fclose(file);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

struct run {
    uint32_t n_members;
    unsigned n_processes;
    uint64_t n_seconds;
};

/* Waits until counts add up to all members. Returns false if a process has
 * failed. */
static bool
await(const struct run *run, const uint64_t *counts)
{
    const uint64_t deadline_ns = clock_deadline_ns(CALL_MS);

    while (sum(counts, run->n_processes) < run->n_members) {
        siginfo_t ended = {0};

        waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT);
        if ((ended.si_pid != 0 && ended.si_status != 0) ||
            clock_is_past(deadline_ns))
            return false;
        usleep(PAUSE_US);
    }
    return true;
}

static double
since(uint64_t begin_ns)
{
    return (double)(clock_now_ns() - begin_ns) / (double)CLOCK_NS_PER_S;
}

static bool
members_run(const struct run *run, struct board *board, const uint64_t begin_ns)
{
    const uint64_t kib = hoopd_kib("VmRSS");
    const double seconds = hoopd_seconds();

    if (!await(run, board->n_joined))
        return false;
    const double joined_s = since(begin_ns);
    const double spent_s = hoopd_seconds() - seconds;
    printf(
        "%u members in %u processes: joined in %.2f s, of which hoopd worked "
        "%.2f s (%.0f us a member)\n",
        run->n_members, run->n_processes, joined_s, spent_s,
        1e6 * spent_s / run->n_members);
    printf("a reply has %" PRIu64 " bytes; hoopd grew by %.1f KiB a member, by "
           "%.1f at the most\n",
           board->n_bytes, (double)(hoopd_kib("VmRSS") - kib) / run->n_members,
           (double)(hoopd_kib("VmHWM") - kib) / run->n_members);
    for (unsigned i = 1; i < run->n_processes; i++) {
        if (board->roster[i] != board->roster[0])
            return false;
    }
    const double before_s = hoopd_seconds();
    const uint64_t renew_ns = clock_now_ns();
    __atomic_store_n(&board->renews_until_ns,
                     clock_deadline_ns(run->n_seconds * 1000),
                     __ATOMIC_SEQ_CST);
    if (!await(run, board->n_left))
        return false;
    const uint64_t n_renewed = sum(board->n_renewed, run->n_processes);
    printf("%" PRIu64 " renewals and all that left in %.2f s, %.0f a second of "
           "hoopd's processor time\n",
           n_renewed, since(renew_ns),
           (double)n_renewed / (hoopd_seconds() - before_s));
    return n_renewed >= run->n_members;
}

int
main(int n_arguments, char **arguments)
{
    const struct run run = {
        .n_members = n_arguments > 1 ? (uint32_t)atoi(arguments[1]) : 256,
        .n_processes = n_arguments > 2 ? (unsigned)atoi(arguments[2]) : 2,
        .n_seconds = n_arguments > 3 ? (uint64_t)atoi(arguments[3]) : 1,
    };
    struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    /* So few processes are slower than the same number of real workers. */
    const char *lease[] = {"--lease=60", NULL};
    bool is_well = true;
    int how;

    if (board == MAP_FAILED || run.n_processes == 0 ||
        run.n_processes > PROCESSES_MAX || run.n_members < run.n_processes)
        return 2;
    daemon_start(&hoopd, lease);
    const uint64_t begin_ns = clock_now_ns();
    for (unsigned i = 0; i < run.n_processes; i++) {
        const uint32_t first = run.n_members * i / run.n_processes;
        struct crew crew = {
            .board = board,
            .process = i,
            .n_members = run.n_members * (i + 1) / run.n_processes - first,
        };

        fflush(stdout);
        if (fork() == 0)
            process_group_run(&crew, first, run.n_members);
    }
    is_well = members_run(&run, board, begin_ns);
    fflush(stdout);
    if (!is_well)
        return 1;
    for (unsigned i = 0; i < run.n_processes; i++)
        is_well &= wait(&how) > 0 && WIFEXITED(how) && WEXITSTATUS(how) == 0;
    daemon_stop(&hoopd);
    return is_well ? 0 : 1;
}
