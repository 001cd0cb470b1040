/* tests/ranks.c - a world of forked processes, without a coordinator */

#include "ranks.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "check.h"
#include "child.h"
#include "default_config.h"
#include "engine/engine.h"
#include "net/socket.h"
#include "path.h"
#include "segments.h"
#include "select/shm_region_forming.h"
#include "select/tuner.h"
#include "select/tuning.h"
#include "session/comm.h"
#include "session/data_path.h"

enum {
    CASES_MAX = 128,
    CASE_NAME = 64,
    SESSION_MS = 60000,
    /* This is the deadline of a run whose options set none. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    DEADLINE_S = 240,
#else
    DEADLINE_S = 100,
#endif
};

struct world {
    const struct ranks_options *options;
    struct path path;
    struct roster *roster;
    int listeners[RANKS_MAX];
    /* All processes share this memory. */
    struct {
        pid_t pids[RANKS_MAX];
        volatile uint32_t room[RANKS_ROOM];
    } * shared;
};

struct machine {
    struct loop *loop;
    struct config config;
    struct data_path data_path;
    pthread_t thread;
};

static void
must(enum hoop_status status)
{
    if (status == HOOP_OK)
        return;
    fprintf(stderr, "set-up: %s (%s)\n", error_text(), error_call_path());
    _exit(99);
}

static void
on_lost(void *owner, uint32_t rank, enum evidence evidence, const char *why)
{
}

static void *
machine_loop(void *owner)
{
    const struct machine *machine = owner;

    loop_run(machine->loop);
    return NULL;
}

/* Uses the defaults, except for the settings of the path and of the options. */
static void
machine_configure(struct machine *machine, const struct world *world)
{
    struct config *config = &machine->config;

    default_config_init(config);
    config->op_timeout_ms = SESSION_MS;
    config->failure_timeout_ms = 0;
    snprintf(config->algorithms, sizeof(config->algorithms), "%s",
             world->path.algorithms);
    snprintf(config->link, sizeof(config->link), "latency=1us");
    snprintf(config->recorder.folder, sizeof(config->recorder.folder), "%s",
             getenv("HOOP_RECORDER_DIR") ? getenv("HOOP_RECORDER_DIR") : "");
    config->loss = world->path.loss;
    config->codec = world->path.codec;
    if (world->options->codec)
        must(codec_parse(world->options->codec, &config->codec));
    config->checking = world->options->is_checked ? ENGINE_CHECK_BEFORE_DATA
                                                  : world->path.checking;
    config->spinning = world->path.spinning;
    config->n_streams = segments_streams();
    config->shm_negotiation = segments_mode();
    config->is_encrypted = segments_encrypted();
    snprintf(config->token, sizeof(config->token), "secret");
}

static void
machine_start(struct machine *machine, const struct world *world)
{
    machine_configure(machine, world);
    const struct engine_options engine_options = {
        .roster = world->roster,
        .config = &machine->config,
        .on_lost = on_lost,
    };

    must(loop_create(&machine->loop));
    const struct connector_options connector_options = {
        .loop = machine->loop,
        .roster = world->roster,
        .config = &machine->config,
        .listen_fd = world->listeners[world->roster->rank],
    };
    must(data_path_create_engine(&machine->data_path, machine->loop,
                                 &engine_options));
    must(data_path_create_connector(&machine->data_path, &connector_options));
    if (pthread_create(&machine->thread, NULL, machine_loop, machine) != 0)
        _exit(99);
}

static void
machine_stop(struct machine *machine)
{
    engine_shutdown(machine->data_path.engine, clock_deadline_ns(1000));
    loop_stop(machine->loop);
    pthread_join(machine->thread, NULL);
    data_path_close(&machine->data_path);
    loop_destroy(machine->loop);
}

/* Waits until the process of every rank has stored its PID. */
static void
await_pids(const struct world *world)
{
    for (uint32_t i = 0; i < world->roster->size; i++) {
        while (__atomic_load_n(&world->shared->pids[i], __ATOMIC_ACQUIRE) == 0)
            sched_yield();
    }
}

/* Does what a session does: negotiates a shared region where the ranks can use
 * one, and agrees on a table of algorithms. A fixed link model saves measuring
 * the links of many small worlds. */
static struct tuner *
comm_tune(struct hoop_comm *comm,
          const struct machine *machine,
          const struct world *world)
{
    const uint64_t deadline_ns = clock_deadline_ns(20000);
    struct tuner *tuner = NULL;

    if (!world->path.is_tuned)
        return NULL;
    must(tuner_create(world->roster, &machine->config, &tuner));
    must(shm_region_negotiate(machine->data_path.engine, comm->context,
                              world->roster, &machine->config, deadline_ns));
    must(tuning_agree(tuner, comm->context, deadline_ns, &comm->tuning));
    context_mark_formed(comm->context);
    return tuner;
}

static int
rank_main(struct world *world, uint32_t index)
{
    struct machine machine = {0};
    struct hoop_comm comm = {.session_timeout_ms = SESSION_MS};
    uint32_t ranks[RANKS_MAX];
    const uint32_t timeout_ms = world->options->timeout_ms;

    __atomic_store_n(&world->shared->pids[index], getpid(), __ATOMIC_RELEASE);
    await_pids(world);
    world->roster->rank = index;
    for (uint32_t i = 0; i < world->roster->size; i++) {
        ranks[i] = i;
        world->roster->members[i].pid = (uint32_t)world->shared->pids[i];
        if (i != index)
            close(world->listeners[i]);
    }
    machine_start(&machine, world);
    const struct context_options context_options = {
        .id = 1,
        .rank = index,
        .size = world->roster->size,
        .ranks = ranks,
        .timeout_ms = timeout_ms ? timeout_ms : 20000,
    };
    must(context_open(machine.data_path.engine, &context_options,
                      &comm.context));
    struct tuner *tuner = comm_tune(&comm, &machine, world);
    struct rank rank = {
        .rank = index,
        .size = world->roster->size,
        .comm = &comm,
        .engine = machine.data_path.engine,
        .input = world->options->input,
        .room = world->shared->room,
        .pids = world->shared->pids,
    };
    const int result = world->options->body(&rank);
    machine_stop(&machine);
    tuning_destroy(comm.tuning);
    tuner_destroy(tuner);
    close(world->listeners[index]);
    roster_destroy(world->roster);
    return result;
}

static void
world_open(struct world *world, const struct ranks_options *options)
{
    world->options = options;
    path_read(&world->path);
    must(roster_create(options->size, &world->roster));
    world->roster->epoch = 7;
    snprintf(world->roster->job, sizeof(world->roster->job), "test");
    world->shared = mmap(NULL, sizeof(*world->shared), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (uint32_t i = 0; i < options->size; i++) {
        struct member *member = &world->roster->members[i];

        must(address_parse("127.0.0.1:0", &member->address));
        must(socket_listen(&member->address, 128, &world->listeners[i]));
        must(socket_local_address(world->listeners[i], &member->address));
        member->rank = i;
        member->incarnation = 1000 + i;
        snprintf(member->host, sizeof(member->host), "host");
        snprintf(member->host_id, sizeof(member->host_id), "node%u",
                 path_node(&world->path, i, options->size));
    }
}

static uint32_t
world_wait(const struct world *world)
{
    const uint64_t deadline_ns = clock_deadline_ns(
        1000 * (world->options->deadline_s ? world->options->deadline_s
                                           : (uint64_t)DEADLINE_S));
    uint32_t n_bad = 0;

    for (uint32_t n_gone = 0; n_gone < world->roster->size;) {
        int how;
        const pid_t pid = waitpid(-1, &how, WNOHANG);

        if (pid == 0) {
            if (clock_is_past(deadline_ns)) {
                fprintf(stderr, "the ranks are not done at the deadline\n");
                for (uint32_t i = 0; i < world->roster->size; i++) {
                    kill(world->shared->pids[i], SIGABRT);
                    /* A stopped process handles SIGABRT only after SIGCONT. */
                    kill(world->shared->pids[i], SIGCONT);
                }
                return world->roster->size;
            }
            usleep(500);
            continue;
        }
        n_gone++;
        const bool is_wanted = WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL;
        if (how != 0 && !is_wanted) {
            fprintf(stderr, "process %d ended with %#x\n", (int)pid, how);
            n_bad++;
        }
    }
    return n_bad;
}

uint32_t
ranks_run(const struct ranks_options *options)
{
    struct world world = {0};

    world_open(&world, options);
    fflush(NULL);
    for (uint32_t i = 0; i < options->size; i++) {
        if (child_fork() == 0) {
            const int result = rank_main(&world, i);

            fflush(NULL);
            /* exit(), unlike _exit(), runs the check of the leak sanitizer. */
            exit(result);
        }
    }
    for (uint32_t i = 0; i < options->size; i++)
        close(world.listeners[i]);
    const uint32_t n_bad = world_wait(&world);
    munmap(world.shared, sizeof(*world.shared));
    roster_destroy(world.roster);
    return n_bad;
}

uint32_t
ranks_run_all(uint32_t size, rank_fn *body)
{
    return ranks_run(&(struct ranks_options){.size = size, .body = body});
}

void
ranks_test_run(void **state)
{
    const struct ranks_test *test = *state;

    for (uint32_t size = test->first; size <= test->last; size++)
        if (ranks_run_all(size, test->body) != 0)
            fail_msg("on %u ranks", size);
}

static void
every_rank_has_the_right_result(void **state)
{
    const struct ranks_options *options = *state;

    assert_int_equal(ranks_run(options), 0);
}

int
ranks_run_cases(const struct rank_cases *cases)
{
    static struct CMUnitTest tests[CASES_MAX];
    static struct ranks_options options[CASES_MAX];
    static char names[CASES_MAX][CASE_NAME];
    size_t n = 0;

    for (size_t i = 0; i < cases->n_cases; i++) {
        for (size_t k = 0; k < cases->n_sizes; k++, n++) {
            if (n == CASES_MAX)
                abort();
            options[n] = (struct ranks_options){
                .size = cases->sizes[k],
                .body = cases->cases[i].body,
                .deadline_s = cases->deadline_s,
            };
            snprintf(names[n], CASE_NAME, "%s on %" PRIu32 " ranks",
                     cases->cases[i].name, cases->sizes[k]);
            tests[n] = (struct CMUnitTest){
                .name = names[n],
                .test_func = every_rank_has_the_right_result,
                .initial_state = &options[n],
            };
        }
    }
    /* cmocka skips the entries of the array that have no name. */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

void
room_add(struct rank *rank, uint32_t place)
{
    __atomic_add_fetch(&rank->room[place], 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &rank->room[place], FUTEX_WAKE, INT32_MAX, NULL, NULL,
            0);
}

void
room_await(const struct rank *rank, uint32_t place, uint32_t at_least)
{
    uint32_t seen;

    while ((seen = __atomic_load_n(&rank->room[place], __ATOMIC_SEQ_CST)) <
           at_least)
        syscall(SYS_futex, &rank->room[place], FUTEX_WAIT, seen, NULL, NULL, 0);
}

void
rank_await_end(const struct rank *rank, uint32_t other)
{
    /* This fails only if the process has ended and its parent has waited for
     * it. */
    const int fd = (int)syscall(SYS_pidfd_open, rank->pids[other], 0);
    struct pollfd end = {.fd = fd, .events = POLLIN};

    if (fd < 0)
        return;
    while (poll(&end, 1, -1) < 0)
        continue;
    close(fd);
}

int
rank_report(const struct rank *rank,
            const char *condition,
            const char *file,
            int line)
{
    fprintf(stderr, "rank %u of %u: %s:%d: not true: %s; last error: %s\n",
            rank->rank, rank->size, file, line, condition, error_text());
    return 1;
}

bool
error_says(const char *phrase)
{
    if (strstr(error_text(), phrase))
        return true;
    fprintf(stderr, "\"%s\" is not in \"%s\"\n", phrase, error_text());
    return false;
}

bool
error_names(const struct rank *rank, uint32_t other)
{
    char name[64];

    snprintf(name, sizeof(name), "rank %u (host:%d)", other,
             (int)rank->pids[other]);
    return error_says(name);
}
