/*
 * tests/integration/session/thread_cancel_test.c - threads cancelled in a call
 *
 * The call ends as it would have anyway, at its deadline at the latest, and the
 * thread ends after it. Other threads of the process continue, and other ranks
 * notice nothing. No call may enter the kernel where a thread could be
 * cancelled: the test replaces the functions that are cancellation points, and
 * checks this.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "hoop/control.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "integration/daemon.h"
#include "temporary.h"

enum {
    N_WORKERS = 3,
    TIMEOUT_MS = 1500,
    LATE_MS = 1500, /* allowance for a busy machine */
    TAG = 5,
};

static bool
is_enabled(void)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_setcancelstate(before, NULL);
    return before == PTHREAD_CANCEL_ENABLE;
}

/* Whether this thread is in a call of hoop. It is never set in hoop's own
 * threads. */
static _Thread_local bool is_calling;
static atomic_uint n_exposed;
static const char *_Atomic exposed;

#define CALL(call)                                                             \
    __extension__({                                                            \
        is_calling = true;                                                     \
        __typeof__(call) result_ = (call);                                     \
        is_calling = false;                                                    \
        result_;                                                               \
    })

/* Sanitizers replace these functions themselves. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
static void *
real(const char *name)
{
    if (is_calling && is_enabled()) {
        atomic_fetch_add(&n_exposed, 1);
        atomic_store(&exposed, name);
    }
    return dlsym(RTLD_NEXT, name);
}

#define STAND_IN(type, name, parameters, arguments)                            \
    type name parameters;                                                      \
    type name parameters                                                       \
    {                                                                          \
        type(*const function) parameters =                                     \
            (type(*) parameters)(uintptr_t)real(#name);                        \
        return function arguments;                                             \
    }

STAND_IN(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
STAND_IN(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n))
STAND_IN(ssize_t, recv, (int fd, void *to, size_t n, int f), (fd, to, n, f))
STAND_IN(ssize_t,
         send,
         (int fd, const void *from, size_t n, int f),
         (fd, from, n, f))
STAND_IN(ssize_t, sendmsg, (int fd, const struct msghdr *m, int f), (fd, m, f))
STAND_IN(ssize_t, readv, (int fd, const struct iovec *v, int n), (fd, v, n))
STAND_IN(int, poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))
STAND_IN(int,
         epoll_wait,
         (int fd, struct epoll_event *events, int n, int ms),
         (fd, events, n, ms))
STAND_IN(int,
         nanosleep,
         (const struct timespec *asked, struct timespec *left),
         (asked, left))
STAND_IN(int, pthread_join, (pthread_t thread, void **out), (thread, out))
STAND_IN(int, close, (int fd), (fd))
STAND_IN(int, fsync, (int fd), (fd))
STAND_IN(int, fclose, (FILE * file), (file))
STAND_IN(char *, fgets, (char *to, int n, FILE *file), (to, n, file))
STAND_IN(int,
         getaddrinfo,
         (const char *node,
          const char *service,
          const struct addrinfo *hints,
          struct addrinfo **out),
         (node, service, hints, out))

int
open64(const char *path, int how, ...)
{
    int (*const function)(const char *, int, ...) =
        (int (*)(const char *, int, ...))(uintptr_t)real("open64");
    va_list more;

    va_start(more, how);
    const unsigned mode =
        how & (O_CREAT | O_TMPFILE) ? va_arg(more, unsigned) : 0;
    va_end(more);
    return function(path, how, mode);
}
#endif

/* Says in which call the thread is cancelled. */
enum place {
    IN_ALLREDUCE,
    IN_RECV,
    IN_WAIT,
    IN_BARRIER,
    IN_OBJECT,
    IN_COMM_CREATE,
    N_PLACES,
};

struct victim {
    enum place place;
    hoop_session_t *session;
    hoop_comm_t *comm; /* a communicator on which no other thread calls */
    hoop_op_t *op;     /* for IN_WAIT */
    atomic_int tid;
    enum hoop_status status;
    bool was_enabled;
    uint64_t took_ns;
};

static enum hoop_status
victim_call(struct victim *victim)
{
    static const uint32_t pair[] = {0, 1};
    hoop_comm_t *comm = NULL;
    void *bytes = NULL;
    size_t n_bytes = 0;
    int32_t x = 1;

    switch (victim->place) {
    case IN_ALLREDUCE:
        return CALL(hoop_allreduce(HOOP_IN_PLACE, &x, 1, HOOP_INT32, HOOP_SUM,
                                   victim->comm));
    case IN_RECV:
        return CALL(hoop_recv(&x, 1, HOOP_INT32, 1, TAG, victim->comm, NULL));
    case IN_WAIT:
        return CALL(hoop_wait(victim->op, HOOP_FOREVER));
    case IN_BARRIER:
        return CALL(hoop_barrier(victim->comm));
    case IN_OBJECT:
        return CALL(
            hoop_recv_object(&bytes, &n_bytes, 1, TAG, victim->comm, NULL));
    case IN_COMM_CREATE:
        return CALL(hoop_comm_create(victim->session, pair, 2, &comm));
    case N_PLACES:
        break;
    }
    return HOOP_E_INVALID;
}

static void *
victim_run(void *owner)
{
    struct victim *victim = owner;

    atomic_store(&victim->tid, (int)syscall(SYS_gettid));
    const uint64_t began_ns = clock_now_ns();
    victim->status = victim_call(victim);
    victim->took_ns = clock_now_ns() - began_ns;
    victim->was_enabled = is_enabled();
    pthread_testcancel();
    return NULL;
}

/* Waits until the thread waits in the kernel. Returns false if it never
 * does. */
static bool
await_sleep(atomic_int *tid)
{
    const uint64_t deadline_ns = clock_deadline_ns(10000);

    while (!clock_is_past(deadline_ns)) {
        char path[64];
        char state = '?';

        snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
                 atomic_load(tid));
        FILE *file = fopen(path, "r");
        if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = '?';
        if (file)
            fclose(file);
        if (state == 'S')
            return true;
        usleep(1000);
    }
    return false;
}

static hoop_session_t *
join(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    options.op_timeout_ms = TIMEOUT_MS;
    setenv("HOOP_DEBUG_SPIN", "never", 1);
    setenv("HOOP_FAILURE_TIMEOUT", "30", 0);
    return CALL(hoop_join(&options, &session)) == HOOP_OK ? session : NULL;
}

static int
victim_check(const struct worker *worker, hoop_comm_t *world, struct victim *v)
{
    pthread_t thread;
    void *result = NULL;

    if (v->place == IN_WAIT)
        WORKER_CHECK(hoop_barrier_start(v->comm, &v->op) == HOOP_OK);
    WORKER_CHECK(pthread_create(&thread, NULL, victim_run, v) == 0);
    WORKER_CHECK(await_sleep(&v->tid));
    WORKER_CHECK(pthread_cancel(thread) == 0);
    /* The others wait for this in their barrier. */
    WORKER_CHECK(worker_allreduce(world, 1000) == 0);
    WORKER_CHECK(worker->index == 0);
    WORKER_CHECK(pthread_join(thread, &result) == 0);
    WORKER_CHECK(result == PTHREAD_CANCELED);
    WORKER_CHECK(v->was_enabled);
    WORKER_CHECK(v->status == HOOP_E_TIMEOUT);
    WORKER_CHECK(v->took_ns >= TIMEOUT_MS / 10 * 8 * CLOCK_NS_PER_MS);
    WORKER_CHECK(v->took_ns <= (TIMEOUT_MS + LATE_MS) * CLOCK_NS_PER_MS);
    return 0;
}

static enum place place_now;

static int
victim_body(const struct worker *worker)
{
    static const uint32_t all[] = {0, 1, 2};
    struct victim victim = {.place = place_now};
    hoop_session_t *session = join(worker);

    WORKER_CHECK(session);
    hoop_comm_t *world = hoop_world(session);
    hoop_comm_set_timeout(world, 0);
    victim.session = session;
    WORKER_CHECK(CALL(hoop_comm_create(session, all, 3, &victim.comm)) ==
                 HOOP_OK);
    if (worker->index == 0 && victim_check(worker, world, &victim) != 0)
        return 1;
    if (worker->index > 0)
        WORKER_CHECK(worker_allreduce(world, 1000) == 0);
    /* Rank 0 arrives last, and the deadline of a barrier would expire. */
    if (worker->index == 0)
        room_set(worker, 0, 1);
    else
        WORKER_CHECK(room_await(worker, 0) == 1);
    WORKER_CHECK(worker_allreduce(world, 1000) == 0);
    hoop_leave(session);
    return 0;
}

static void
cancelled_call_ends_at_its_deadline_and_disturbs_nobody(void **state)
{
    for (place_now = 0; place_now < N_PLACES; place_now++) {
        if (workers_run(hoopd.address, N_WORKERS, victim_body, NULL) != 0)
            fail_msg("place %d", (int)place_now);
    }
}

struct joiner {
    struct hoop_join_options options;
    atomic_int tid;
    enum hoop_status status;
};

static void *
joiner_run(void *owner)
{
    struct joiner *joiner = owner;
    hoop_session_t *session = NULL;

    atomic_store(&joiner->tid, (int)syscall(SYS_gettid));
    joiner->status = CALL(hoop_join(&joiner->options, &session));
    pthread_testcancel();
    return NULL;
}

static int
cancelled_join_ends_at_its_deadline(const struct worker *worker)
{
    struct joiner joiner = {.options = worker_options(worker)};
    hoop_session_t *session = NULL;
    void *result = NULL;
    pthread_t thread;

    joiner.options.world_size = 2;
    joiner.options.join_timeout_ms = TIMEOUT_MS;
    joiner.options.job = "nobody-comes";
    WORKER_CHECK(pthread_create(&thread, NULL, joiner_run, &joiner) == 0);
    WORKER_CHECK(await_sleep(&joiner.tid));
    WORKER_CHECK(pthread_cancel(thread) == 0);
    WORKER_CHECK(pthread_join(thread, &result) == 0);
    WORKER_CHECK(result == PTHREAD_CANCELED);
    WORKER_CHECK(joiner.status == HOOP_E_TIMEOUT);
    joiner.options.world_size = 1;
    joiner.options.job = "alone";
    WORKER_CHECK(hoop_join(&joiner.options, &session) == HOOP_OK);
    hoop_leave(session);
    return 0;
}

/* Makes all collectives in turn, in a thread that could be cancelled. */
static int
collectives(hoop_session_t *session)
{
    enum {
        LARGE = 300000
    };
    hoop_comm_t *world = hoop_world(session);
    const uint32_t rank = hoop_comm_rank(world);
    const uint32_t peer = 1 - rank;
    static int32_t in[2 * LARGE];
    static int32_t out[2 * LARGE];
    const size_t counts[] = {1, 1000, LARGE};
    struct hoop_objects objects;
    hoop_op_t *ops[2];

    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        const size_t n = counts[i];

        for (unsigned again = 0; again < 40; again++)
            WORKER_CHECK(CALL(hoop_allreduce(in, out, n, HOOP_INT32, HOOP_SUM,
                                             world)) == HOOP_OK);
        WORKER_CHECK(CALL(hoop_allgather(in, out, n, HOOP_INT32, world)) ==
                     HOOP_OK);
        WORKER_CHECK(CALL(hoop_scan(in, out, n, HOOP_INT32, HOOP_MAX, world)) ==
                     HOOP_OK);
        WORKER_CHECK(CALL(hoop_send_start(in, n, HOOP_INT32, peer, TAG, world,
                                          &ops[0])) == HOOP_OK);
        WORKER_CHECK(CALL(hoop_recv_start(out, n, HOOP_INT32, peer, TAG, world,
                                          NULL, &ops[1])) == HOOP_OK);
        WORKER_CHECK(CALL(hoop_wait_all(ops, 2, HOOP_FOREVER)) == HOOP_OK);
        for (unsigned again = 0; again < 40; again++) {
            const enum hoop_status status =
                (again + rank) % 2
                    ? CALL(hoop_send(in, n, HOOP_INT32, peer, TAG, world))
                    : CALL(hoop_recv(out, n, HOOP_INT32, peer, TAG, world,
                                     NULL));
            WORKER_CHECK(status == HOOP_OK);
        }
    }
    WORKER_CHECK(CALL(hoop_allgather_object(in, 10, &objects, world)) ==
                 HOOP_OK);
    hoop_objects_free(&objects);
    WORKER_CHECK(CALL(hoop_barrier(world)) == HOOP_OK);
    return 0;
}

static int
communicators(hoop_session_t *session)
{
    static const uint32_t both[] = {1, 0};
    hoop_comm_t *world = hoop_world(session);
    hoop_comm_t *comm = NULL;
    hoop_comm_t *part = NULL;
    hoop_group_t *group = NULL;
    uint64_t flags = 1;

    WORKER_CHECK(CALL(hoop_comm_create(session, both, 2, &comm)) == HOOP_OK);
    WORKER_CHECK(CALL(hoop_comm_split(comm, 0, 0, &part)) == HOOP_OK);
    WORKER_CHECK(CALL(hoop_barrier(part)) == HOOP_OK);
    WORKER_CHECK(CALL(hoop_comm_agree(part, &flags)) == HOOP_OK);
    WORKER_CHECK(CALL(hoop_comm_shrink(part, &comm)) == HOOP_OK);
    WORKER_CHECK(CALL((hoop_comm_free(part), HOOP_OK)) == HOOP_OK);
    WORKER_CHECK(CALL(hoop_group_create(session, NULL, 0, &group)) == HOOP_OK);
    WORKER_CHECK(CALL(hoop_group_global_comm(group, &comm)) == HOOP_OK);
    WORKER_CHECK(CALL(hoop_group_intra_comm(group, &comm)) == HOOP_OK);
    WORKER_CHECK(CALL((hoop_group_free(group), HOOP_OK)) == HOOP_OK);
    WORKER_CHECK(CALL(hoop_barrier(world)) == HOOP_OK);
    return 0;
}

static int
checkpoints(hoop_session_t *session, const char *folder)
{
    static float values[1000];
    const struct hoop_mesh_axis axes[] = {{"a", 2}};
    const struct hoop_tensor whole = {values, HOOP_FLOAT32, {1, {1000}}, NULL};
    struct hoop_tensor_spec spec = {.sharding = {.dims = {{1, {0}}}}};
    hoop_dtensor_t *dtensor = NULL;
    hoop_dtensor_t *moved = NULL;
    hoop_dtensor_t *loaded = NULL;
    struct hoop_checkpoint_contents *contents = NULL;

    WORKER_CHECK(
        CALL(hoop_mesh_create(
            session, &(struct hoop_mesh_options){.axes = axes, .n_axes = 1},
            &spec.mesh)) == HOOP_OK);
    WORKER_CHECK(CALL(hoop_dtensor_from_global(&whole, &spec, &dtensor)) ==
                 HOOP_OK);
    WORKER_CHECK(CALL(hoop_dtensor_redistribute(
                     dtensor, &(struct hoop_tensor_spec){.mesh = spec.mesh},
                     &moved)) == HOOP_OK);
    const struct hoop_named_dtensor named = {.name = "w", .dtensor = dtensor};
    WORKER_CHECK(CALL(hoop_checkpoint_save(folder, &named, 1)) == HOOP_OK);
    WORKER_CHECK(CALL(hoop_checkpoint_load(folder, "w", &spec, &loaded)) ==
                 HOOP_OK);
    WORKER_CHECK(CALL(hoop_checkpoint_restore(folder, &named, 1)) == HOOP_OK);
    WORKER_CHECK(CALL(hoop_checkpoint_verify(folder)) == HOOP_OK);
    WORKER_CHECK(CALL(hoop_checkpoint_list(folder, &contents)) == HOOP_OK);
    hoop_checkpoint_contents_free(contents);
    hoop_dtensor_free(dtensor);
    hoop_dtensor_free(moved);
    hoop_dtensor_free(loaded);
    hoop_mesh_free(spec.mesh);
    return 0;
}

static int
control(const struct worker *worker)
{
    const struct hoop_control_options options = {
        .coordinator = worker->coordinator, .job = "keys"};
    hoop_control_t *client = NULL;

    WORKER_CHECK(CALL(hoop_control_create(&options, &client)) == HOOP_OK);
    WORKER_CHECK(CALL(hoop_control_health(client)) == HOOP_OK);
    WORKER_CHECK(CALL((hoop_control_destroy(client), HOOP_OK)) == HOOP_OK);
    return 0;
}

static char folder_name[TEMPORARY_PATH];

static int
sweep_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    const int log = open("/dev/null", O_WRONLY);

    dup2(log, STDERR_FILENO);
    setenv("HOOP_LOG", "debug", 1);
    session = join(worker);
    if (!session || collectives(session) || communicators(session) ||
        checkpoints(session, folder_name) || control(worker))
        return printf("%s\n", hoop_error_text()), 1;
    if (CALL((hoop_leave(session), HOOP_OK)) != HOOP_OK || !is_enabled())
        return 1;
    if (n_exposed > 0)
        printf("%u calls could be cancelled, the last in %s()\n", n_exposed,
               exposed);
    fflush(stdout);
    return n_exposed > 0;
}

static void
no_call_asks_the_kernel_where_it_could_be_cancelled(void **state)
{
    static const char *const transports[] = {"auto", "shm", "tcp"};
    char command[192];

    for (size_t i = 0; i < COUNT_OF(transports); i++) {
        strcpy(folder_name, "hoop-cancel-XXXXXX");
        assert_non_null(temporary_folder(folder_name, sizeof(folder_name)));
        assert_int_equal(setenv("HOOP_TRANSPORT", transports[i], 1), 0);
        assert_int_equal(workers_run(hoopd.address, 2, sweep_body, NULL), 0);
        assert_int_equal(unsetenv("HOOP_TRANSPORT"), 0);
        snprintf(command, sizeof(command), "rm -r %s", folder_name);
        assert_int_equal(system(command), 0);
    }
}

/* Cancellation stays disabled if the program has disabled it. */
static int
what_the_program_has_off_stays_off(const struct worker *worker)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    hoop_session_t *session = join(worker);
    WORKER_CHECK(session && !is_enabled());
    WORKER_CHECK(hoop_barrier(hoop_world(session)) == HOOP_OK);
    WORKER_CHECK(!is_enabled());
    hoop_leave(session);
    WORKER_CHECK(!is_enabled());
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            cancelled_call_ends_at_its_deadline_and_disturbs_nobody),
        WORKERS_TEST(cancelled_join_ends_at_its_deadline, 1),
        cmocka_unit_test(no_call_asks_the_kernel_where_it_could_be_cancelled),
        WORKERS_TEST(what_the_program_has_off_stays_off, 2),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
