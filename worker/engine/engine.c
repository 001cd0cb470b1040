/* engine/engine.c - creates, connects, leaves and destroys an engine */

#include "engine/engine.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "engine/call_record.h"
#include "engine/command_queue.h"
#include "engine/context.h"
#include "engine/context_command.h"
#include "engine/events.h"
#include "engine/failure/departure.h"
#include "engine/failure/failure_detector.h"
#include "engine/failure/failure_notice.h"
#include "engine/op_pool.h"
#include "engine/progress.h"
#include "engine/shortage.h"
#include "engine/state.h"
#include "engine/wait.h"
#include "net/path.h"
#include "net/socket.h"
#include "net/wakeup.h"

enum {
    CONNECT_POLL_INTERVAL_MS = 20,
};

static enum hoop_status
engine_init_resources(struct engine *engine)
{
    const struct transport_options options = {
        .roster = engine->roster,
        .config = engine->config,
        .events = &engine_events,
        .owner = engine,
        .faults = engine->faults,
    };

    engine->wakeup_fds =
        calloc(engine->roster->size, sizeof(*engine->wakeup_fds));
    /* Set these before anything else can fail, because engine_destroy() closes
     * them. */
    for (uint32_t i = 0; engine->wakeup_fds && i < engine->roster->size; i++)
        atomic_init(&engine->wakeup_fds[i], -1);
    engine->liveness.ranks =
        calloc(engine->roster->size, sizeof(*engine->liveness.ranks));
    engine->liveness.heartbeats =
        calloc(engine->roster->size, sizeof(*engine->liveness.heartbeats));
    engine->inbox.notices =
        calloc(engine->roster->size, sizeof(*engine->inbox.notices));
    if (!engine->liveness.ranks || !engine->wakeup_fds ||
        !engine->liveness.heartbeats || !engine->inbox.notices)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the engine");
    return transport_create(&options, &engine->transport);
}

enum hoop_status
engine_create(const struct engine_options *options, struct engine **out_engine)
{
    struct engine *engine = calloc(1, sizeof(*engine));

    if (!engine)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the engine");
    engine->options = *options;
    engine->roster = options->roster;
    engine->config = options->config;
    engine->progress.deadline_ns = CLOCK_NEVER;
    /* The first context is expected, because peers may be faster. */
    engine->contexts.n_expected = 1;
    pthread_mutex_init(&engine->lock, NULL);
    TAILQ_INIT(&engine->waiters);
    TAILQ_INIT(&engine->inbox.submit_queue);
    TAILQ_INIT(&engine->inbox.commands);
    TAILQ_INIT(&engine->inbox.noticed);
    TAILQ_INIT(&engine->pool.ops);
    TAILQ_INIT(&engine->contexts.open);
    TAILQ_INIT(&engine->contexts.watched);
    TAILQ_INIT(&engine->inbox.context_commands);
    TAILQ_INIT(&engine->contexts.shm_running);
    TAILQ_INIT(&engine->progress.running);
    TAILQ_INIT(&engine->progress.dirty);
    TAILQ_INIT(&engine->progress.ended);
    engine->cpu_placement.local_rank = roster_local_rank(engine->roster);
    engine->cpu_placement.n_ranks = roster_local_size(engine->roster);
    engine->local_ranks_fd = host_ranks_register();
    engine_update_wait_policy(engine);

    enum hoop_status status =
        faults_create(options->config->faults, engine->roster->rank,
                      fault_call_name_exists, &engine->faults);
    if (status == HOOP_OK)
        status = call_record_start(engine);
    if (status == HOOP_OK)
        status = engine_init_resources(engine);
    if (status != HOOP_OK) {
        engine_destroy(engine);
        return error_pass(status);
    }
    *out_engine = engine;
    return HOOP_OK;
}

void
engine_compare_clocks(struct engine *engine,
                      const struct recorder_round_trip *trip)
{
    recorder_compare_clocks(engine->recorder, trip);
}

void
engine_destroy(struct engine *engine)
{
    struct op *op;
    struct command *command;
    struct comm_context *context;

    if (!engine)
        return;
    assert(TAILQ_EMPTY(&engine->progress.running));
    while ((context = TAILQ_FIRST(&engine->contexts.open)))
        context_destroy(context);
    while ((command = TAILQ_FIRST(&engine->inbox.commands))) {
        TAILQ_REMOVE(&engine->inbox.commands, command, link);
        command_discard(command);
        free(command);
    }
    while ((op = TAILQ_FIRST(&engine->pool.ops))) {
        TAILQ_REMOVE(&engine->pool.ops, op, link);
        op_destroy(op);
    }
    if ((op = atomic_load(&engine->pool.kept)))
        op_destroy(op);
    transport_destroy(engine->transport);
    faults_destroy(engine->faults);
    recorder_destroy(engine->recorder);
    socket_close(engine->local_ranks_fd);
    pthread_mutex_destroy(&engine->lock);
    for (uint32_t i = 0; engine->wakeup_fds && i < engine->roster->size; i++)
        descriptor_close(engine->wakeup_fds[i]);
    for (uint32_t i = 0;
         engine->liveness.heartbeats && i < engine->roster->size; i++)
        path_probe_end(&engine->liveness.heartbeats[i].probe);
    free(engine->wakeup_fds);
    for (uint32_t i = 0; engine->liveness.ranks && i < engine->roster->size;
         i++)
        free(engine->liveness.ranks[i].failed);
    free(engine->liveness.ranks);
    free(engine->liveness.heartbeats);
    free(engine->inbox.notices);
    free(engine->liveness.views.peer_activity_count);
    free(engine->liveness.views.seen);
    free(engine);
}

enum hoop_status
engine_publish_cma_address(struct engine *engine, struct cma_address *out_place)
{
    pthread_mutex_lock(&engine->lock);
    const enum hoop_status status =
        cma_export_address(&engine->cma_cookie, out_place);
    pthread_mutex_unlock(&engine->lock);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
engine_wakeup_handle(const struct engine *engine,
                     struct wakeup_handle *out_place)
{
    return transport_wakeup_handle(engine->transport, out_place);
}

enum hoop_status
engine_import_wakeup(struct engine *engine,
                     uint32_t rank,
                     const struct wakeup_handle *place)
{
    int none = -1;
    int fd = -1;

    if (atomic_load(&engine->wakeup_fds[rank]) >= 0)
        return HOOP_OK;
    const enum hoop_status status = wakeup_import(place, &fd);
    if (status != HOOP_OK)
        return error_pass(status);
    /* In a container of its own the process would have another pid here. */
    atomic_store(&engine->liveness.heartbeats[rank].is_process_visible_by_pid,
                 place->pid == engine->roster->members[rank].pid);
    /* Another thread may have been faster, for another communicator. */
    if (!atomic_compare_exchange_strong(&engine->wakeup_fds[rank], &none, fd))
        descriptor_close(fd);
    return HOOP_OK;
}

static enum hoop_status
raise_rank_lost(const struct engine *engine, uint32_t rank)
{
    const struct failure_notice failure_notice =
        lost_rank_failure(engine, rank);
    const struct hoop_failure failure =
        failure_to_hoop_failure(engine->roster, &failure_notice);

    return error_raise_failure(&failure, "%s", failure_notice.why);
}

/* Report the first lost rank. Without it no world is formed, and ranks that
 * have seen the loss may be gone and refuse connections. */
static enum hoop_status
raise_first_lost_rank(const struct engine *engine)
{
    uint32_t rank = 0;

    while (!engine->liveness.ranks[rank].is_lost)
        rank++;
    return raise_rank_lost(engine, rank);
}

/* Returns HOOP_E_PENDING while rank is neither connected nor lost. The caller
 * owns progress. A rank that has left had been connected before: it may have
 * finished its work while this rank is still joining, which is no failure. */
static enum hoop_status
connect_status(const struct engine *engine, uint32_t rank)
{
    const struct rank_liveness *liveness = &engine->liveness.ranks[rank];
    const uint32_t self = engine->roster->rank;

    if (transport_is_connected(engine->transport, rank) || liveness->has_left)
        return HOOP_OK;
    /* The other ranks no longer connect to a rank that they have given up. */
    if (engine->liveness.ranks[self].is_lost)
        return raise_rank_lost(engine, self);
    if (liveness->is_lost)
        return raise_rank_lost(engine, rank);
    if (engine->liveness.n_lost > 0)
        return raise_first_lost_rank(engine);
    return liveness->shortage_status == HOOP_OK ? HOOP_E_PENDING
                                                : shortage_raise(engine, rank);
}

/* Ask for the connection. A shortage that was reported before, read or not,
 * must not prevent another try. The caller owns progress. */
static void
connect_begin(struct engine *engine, uint32_t rank)
{
    engine_execute_commands(engine);
    engine->liveness.ranks[rank].shortage_status = HOOP_OK;
    transport_request_connect(engine->transport, rank);
}

/* Poll briefly: rank may become suspect meanwhile. */
static int
connect_poll_ms(uint64_t deadline_ns)
{
    const int left_ms = clock_left_ms(deadline_ns);

    return left_ms < 0 || left_ms > CONNECT_POLL_INTERVAL_MS
               ? CONNECT_POLL_INTERVAL_MS
               : left_ms;
}

enum hoop_status
engine_connect(struct engine *engine, uint32_t rank, uint64_t deadline_ns)
{
    enum hoop_status status = HOOP_E_PENDING;
    uint64_t views_asked_ns = interrupt_due_ns();
    char name[ROSTER_NAME_MAX];
    bool is_needed = false;

    do {
        if (!progress_acquire_until(engine, deadline_ns))
            break;
        if (!is_needed)
            connect_begin(engine, rank);
        is_needed = true;
        status = connect_status(engine, rank);
        if (status == HOOP_E_PENDING)
            progress_poll(engine, connect_poll_ms(deadline_ns));
        progress_release(engine);
        if (clock_is_past(views_asked_ns)) {
            if (interrupt_check_now())
                return error_raise(
                    HOOP_E_CANCELLED,
                    "interrupted by this program while it "
                    "connected to %s",
                    roster_format_name(engine->roster, rank, name));
            views_asked_ns = interrupt_due_ns();
        }
    } while (status == HOOP_E_PENDING && !clock_is_past(deadline_ns));
    if (status == HOOP_E_PENDING)
        return error_raise(HOOP_E_TIMEOUT, "no connection to %s in time",
                           roster_format_name(engine->roster, rank, name));
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
engine_check_not_expelled(struct engine *engine)
{
    const enum hoop_status status = engine_check_not_forked(engine);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!atomic_load(&engine->liveness.is_expelled))
        return HOOP_OK;
    struct failure_notice failure_notice =
        lost_rank_failure(engine, engine->roster->rank);
    if (failure_notice.status == HOOP_E_PEER_LOST)
        failure_notice.status = HOOP_E_ABORTED;
    const struct hoop_failure failure =
        failure_to_hoop_failure(engine->roster, &failure_notice);
    return error_raise_failure(&failure, "%s", failure_notice.why);
}

int
engine_fd(const struct engine *engine)
{
    return transport_fd(engine->transport);
}

bool
engine_give_up(struct engine *engine, const char *why)
{
    struct context_command context_command = {.kind = CONTEXT_COMMAND_GIVE_UP,
                                              .why = why};

    /* Progress ownership may stay with another thread until its operation ends,
     * so this is a command. */
    context_command_submit_and_wait(engine, &context_command);
    return context_command.was_new;
}

static void
await_peers_shutdown(struct engine *engine, uint64_t deadline_ns)
{
    while (!transport_is_shut_down(engine->transport) &&
           !clock_is_past(deadline_ns))
        progress_poll(engine, clock_left_ms(deadline_ns));
}

void
engine_shutdown(struct engine *engine, uint64_t deadline_ns)
{
    struct context_command context_command = {.kind = CONTEXT_COMMAND_LEAVE};

    /* A thread that waits for an operation keeps progress ownership until that
     * has ended, so this is a command. */
    context_command_submit_and_wait(engine, &context_command);
    /* All operations have ended, and none can begin: another owner finds that
     * its own has, or has a bounded turn, and hands over to this thread, which
     * comes first among the waiters. */
    engine_wake_progress_owner(engine);
    progress_acquire_until(engine, CLOCK_NEVER);
    /* A rank that has given up does not leave in good order. */
    if (!engine->liveness.ranks[engine->roster->rank].is_lost)
        shm_departure_write(engine);
    transport_start_shutdown(engine->transport);
    await_peers_shutdown(engine, deadline_ns);
    progress_release(engine);
}

void
engine_await_peers_shutdown(struct engine *engine, uint64_t deadline_ns)
{
    engine_wake_progress_owner(engine);
    progress_acquire_until(engine, CLOCK_NEVER);
    progress_poll(engine, 0);
    await_peers_shutdown(engine, deadline_ns);
    progress_release(engine);
}

/* Several threads may wait at a time. This is off the path of a call that need
 * not wait. */
void
engine_count_wait(struct engine *engine,
                  enum engine_wait_kind kind,
                  uint64_t n_ns)
{
    if (kind < ENGINE_WAIT_KINDS)
        atomic_fetch_add_explicit(&engine->totals.wait_ns[kind], n_ns,
                                  memory_order_relaxed);
}

void
engine_stats(struct engine *engine, struct engine_stats *out_stats)
{
    out_stats->operations = atomic_load(&engine->progress.n_ended);
    for (size_t i = 0; i < ENGINE_WAIT_KINDS; i++)
        out_stats->wait_ns[i] = atomic_load(&engine->totals.wait_ns[i]);
    for (size_t i = 0; i < ENGINE_FAILURE_KINDS; i++)
        out_stats->failures[i] = atomic_load(&engine->totals.failures[i]);
    transport_stats(engine->transport, &out_stats->transport);
}
