/*
 * hooprun/process_group.c - the poll loop: signals, pipes, deadlines
 *
 *   RUNNING --a worker fails--> FAILING --2 s--> ENDING --grace--> KILLING
 *      |\______SIGTERM, timeout____________________^ ^
 *       \______SIGINT, SIGHUP, SIGQUIT--> ASKED --grace
 *
 * In FAILING the other workers may still notice the failure and print what it
 * means to them, which is more useful than hooprun's texts. ASKED has passed on
 * the signal that hooprun got, ENDING has sent SIGTERM, KILLING SIGKILL. Each
 * state ends early when no worker is left. FAILING also ends when all that are
 * left are stopped, since they print nothing more.
 */

#include "hooprun/process_group.h"

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock_ms.h"
#include "hooprun/agent.h"
#include "hooprun/process_group_state.h"

enum {
    FAILING_MS = 2000,
    POLL_OTHERS = 3,  /* the descriptor for signals, that of the front, and
                         that of the status line */
    KILLED_MS = 5000, /* time after which a host with killed ranks is given
                         up */
    TICK_MS = 1000,   /* interval with other hosts, to notice their silence */
};

static const int64_t NEVER_MS = INT64_MAX;

static bool
signal_is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 &&
           action.sa_handler == SIG_IGN;
}

void
process_group_mask(sigset_t *out_mask)
{
    static const int ignorable[] = {SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU};

    sigemptyset(out_mask);
    sigaddset(out_mask, SIGCHLD);
    /* nohup's choice; a signal descriptor would receive ignored signals too. */
    for (size_t i = 0; i < sizeof(ignorable) / sizeof(ignorable[0]); i++) {
        if (!signal_is_ignored(ignorable[i]))
            sigaddset(out_mask, ignorable[i]);
    }
    sigaddset(out_mask, SIGCONT);
    sigaddset(out_mask, SIGINT);
    sigaddset(out_mask, SIGQUIT);
    sigaddset(out_mask, SIGTERM);
}

void
process_group_block(sigset_t *out_mask, sigset_t *out_old_mask)
{
    /* If SIGCHLD was ignored when hooprun was started, the kernel would reap
     * the workers, and their exit codes would be lost. */
    signal(SIGCHLD, SIG_DFL);
    process_group_mask(out_mask);
    sigprocmask(SIG_BLOCK, out_mask, out_old_mask);
}

/* Send the signal to a worker on any host. */
static void
signal_send(const struct worker *worker, int number)
{
    if (worker->host)
        host_signal(worker->host, worker->rank, number);
    else
        worker_signal(worker, number);
}

static void
process_group_signal(const struct process_group *process_group, int number)
{
    for (uint32_t i = 0; i < process_group->n_workers; i++) {
        if (process_group->workers[i].is_running)
            signal_send(&process_group->workers[i], number);
    }
}

static void
process_group_end(struct process_group *process_group)
{
    process_group->phase = PROCESS_GROUP_ENDING;
    process_group->phase_end_ms =
        now_ms() + (int64_t)process_group->options->grace_s * 1000;
    process_group_signal(process_group, SIGTERM);
    /* A stopped process could not react. */
    process_group_signal(process_group, SIGCONT);
}

static void
process_group_kill(struct process_group *process_group)
{
    process_group->phase = PROCESS_GROUP_KILLING;
    process_group->phase_end_ms =
        process_group->hosts ? now_ms() + KILLED_MS : NEVER_MS;
    process_group_signal(process_group, SIGKILL);
}

/* SIGKILL works at once, so a host whose killed workers do not end has not
 * received it. */
static void
hosts_give_up(struct process_group *process_group)
{
    process_group->phase_end_ms = NEVER_MS;
    for (uint32_t i = 0; i < process_group->n_workers; i++) {
        if (process_group->workers[i].is_running)
            host_abandon(process_group->workers[i].host);
    }
}

static void
process_group_fail(struct process_group *process_group)
{
    process_group->phase = PROCESS_GROUP_FAILING;
    process_group->output.is_failing = true;
    process_group->phase_end_ms = now_ms() + FAILING_MS;
}

/* Forget the workers, since none was started or none is needed any more. */
static void
process_group_cancel(struct process_group *process_group)
{
    for (uint32_t i = 0; i < process_group->n_workers; i++)
        process_group->workers[i].is_running = false;
    process_group->n_running = 0;
}

/* Cancel the start if not all hosts are ready. Return false if the workers were
 * started. */
static bool
process_group_cancel_early(struct process_group *process_group, int code)
{
    if (!process_group->hosts || hosts_have_begun(process_group->hosts))
        return false;
    process_group->start_code = code;
    process_group_cancel(process_group);
    return true;
}

static void
supervisor_lost(struct process_group *process_group)
{
    waitpid(process_group->supervisor->pid, NULL, 0);
    process_group->supervisor->pid = 0;
    output_clear_progress(&process_group->output);
    process_group->outcome.has_failed = true;
    process_group->outcome.first.wait_status = W_EXITCODE(EXIT_FAILURE, 0);
    const bool is_early =
        process_group_cancel_early(process_group, EXIT_FAILURE);
    warnx("the embedded coordinator has ended; %s",
          is_early ? "no worker was started yet" : "ending the workers");
    if (!is_early && process_group->phase == PROCESS_GROUP_RUNNING)
        process_group_end(process_group);
}

/* Call this when the worker was reaped, here or on its host. */
static void
worker_ended(struct process_group *process_group,
             struct worker *worker,
             const struct ending *ending)
{
    worker->is_running = false;
    process_group->n_running--;
    if (!outcome_note(&process_group->outcome, ending))
        return;
    if (process_group->phase == PROCESS_GROUP_RUNNING &&
        process_group->outcome.is_forgiving) {
        process_group_report_loss(process_group, ending);
    } else if (process_group->phase == PROCESS_GROUP_RUNNING) {
        process_group_report_failure(process_group);
        process_group_fail(process_group);
    } else if (process_group->phase == PROCESS_GROUP_FAILING) {
        if (process_group->culprit.reason &&
            process_group->culprit.rank == ending->rank)
            process_group->outcome.first = *ending;
        process_group_report_later(process_group, ending);
    }
}

static void
worker_reap(struct process_group *process_group, struct worker *worker)
{
    struct ending ending = {.rank = worker->rank, .pid = worker->pid};

    /*
     * Processes that a failed worker has started must not outlive it. Until it
     * is reaped, its group's number cannot be reused.
     */
    siginfo_t ended = {0};
    waitid(P_PID, (id_t)worker->pid, &ended, WEXITED | WNOHANG | WNOWAIT);
    const bool is_good = ended.si_code == CLD_EXITED && ended.si_status == 0;
    if (worker->has_group &&
        (!is_good || process_group->phase >= PROCESS_GROUP_TERMINATING))
        worker_signal(worker, SIGKILL);

    waitpid(worker->pid, &ending.wait_status, 0);
    exit_report_write(&process_group->exit_report, &ending);
    worker_ended(process_group, worker, &ending);
}

static void
remote_started(void *owner, uint32_t rank, pid_t pid)
{
    struct process_group *process_group = owner;

    process_group->workers[rank].pid = pid;
}

static void
remote_output(void *owner,
              uint32_t rank,
              int fd,
              const char *bytes,
              size_t n_bytes)
{
    struct process_group *process_group = owner;

    output_feed(&process_group->output, rank, fd, bytes, n_bytes);
}

static struct ending
remote_ending(const struct worker *worker, int wait_status)
{
    return (struct ending){
        .rank = worker->rank,
        .pid = worker->pid,
        .wait_status = wait_status,
        .host = host_name(worker->host),
    };
}

static void
remote_ended(void *owner, uint32_t rank, int wait_status)
{
    struct process_group *process_group = owner;
    struct worker *worker = &process_group->workers[rank];
    const struct ending ending = remote_ending(worker, wait_status);

    if (!worker->is_running)
        return;
    hosts_notice(process_group->hosts, rank, wait_status);
    worker_ended(process_group, worker, &ending);
}

static void
remote_stopped(void *owner, uint32_t rank, int number)
{
    struct process_group *process_group = owner;

    process_group->workers[rank].stop_signal = number;
    if (number != 0 && process_group->phase == PROCESS_GROUP_FAILING &&
        process_group->suspended_ms == NEVER_MS &&
        process_group_is_stopped(process_group))
        process_group_end(process_group);
}

static void
remote_lost(void *owner, struct host *host, int code)
{
    struct process_group *process_group = owner;
    uint32_t n_lost = 0;

    for (uint32_t i = 0; i < process_group->n_workers; i++)
        n_lost += process_group->workers[i].is_running &&
                  process_group->workers[i].host == host;
    if (n_lost == 0)
        return;
    output_clear_progress(&process_group->output);
    host_explain(host);
    /* Workers on other hosts may have been started; they end with their
     * hosts. */
    if (host_has_refused(host)) {
        process_group->start_code = code;
        process_group_cancel(process_group);
        return;
    }
    for (uint32_t i = 0; i < process_group->n_workers; i++) {
        struct worker *worker = &process_group->workers[i];
        struct ending ending;

        if (!worker->is_running || worker->host != host)
            continue;
        ending = remote_ending(worker, W_EXITCODE(EXIT_FAILURE, 0));
        ending.is_lost = true;
        hosts_notice(process_group->hosts, worker->rank, ending.wait_status);
        worker_ended(process_group, worker, &ending);
    }
}

static struct worker *
worker_find(struct process_group *process_group, pid_t pid)
{
    for (uint32_t i = 0; i < process_group->n_workers; i++) {
        if (process_group->workers[i].pid == pid &&
            process_group->workers[i].is_running &&
            !process_group->workers[i].host)
            return &process_group->workers[i];
    }
    return NULL;
}

/* Reap the workers that have ended. Return whether there were any. */
static bool
ends_reap(struct process_group *process_group)
{
    bool has_reaped = false;
    int64_t i;

    while ((i = ends_next(&process_group->ends)) >= 0) {
        struct worker *worker = &process_group->workers[i];

        if (!worker->is_running)
            continue;
        worker_reap(process_group, worker);
        has_reaped = true;
    }
    return has_reaped;
}

static void
process_group_reap(struct process_group *process_group)
{
    while (process_group->n_running > 0) {
        siginfo_t ended = {0};

        if (ends_reap(process_group))
            continue;
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            ended.si_pid == 0)
            break;

        struct worker *worker = worker_find(process_group, ended.si_pid);

        /* Others may have ended just now, and before it. */
        if (worker && ends_reap(process_group))
            continue;
        if (worker)
            worker_reap(process_group, worker);
        else if (process_group->supervisor &&
                 ended.si_pid == process_group->supervisor->pid)
            supervisor_lost(process_group);
        else if (!process_group->hosts ||
                 !hosts_reap(process_group->hosts, ended.si_pid))
            waitpid(ended.si_pid, NULL, 0);
    }
    if (process_group->phase == PROCESS_GROUP_FAILING &&
        process_group->suspended_ms == NEVER_MS &&
        process_group_is_stopped(process_group))
        process_group_end(process_group);
}

/* Time in which all are stopped does not count for deadlines. */
static void
process_group_suspend(struct process_group *process_group)
{
    if (process_group->suspended_ms == NEVER_MS)
        process_group->suspended_ms = now_ms();
    output_show_status(&process_group->output, "");
    process_group_signal(process_group, SIGSTOP);
    if (process_group->supervisor && process_group->supervisor->pid > 0)
        kill(process_group->supervisor->pid, SIGSTOP);
}

static void
deadline_move(int64_t *deadline_ms, int64_t by_ms)
{
    if (*deadline_ms != NEVER_MS)
        *deadline_ms += by_ms;
}

/* Continue the coordinator first, since it renews leases that have run out
 * meanwhile. */
static void
process_group_resume(struct process_group *process_group)
{
    if (process_group->supervisor && process_group->supervisor->pid > 0)
        kill(process_group->supervisor->pid, SIGCONT);
    process_group_signal(process_group, SIGCONT);
    if (process_group->suspended_ms == NEVER_MS)
        return;
    deadline_move(&process_group->phase_end_ms,
                  now_ms() - process_group->suspended_ms);
    deadline_move(&process_group->run_end_ms,
                  now_ms() - process_group->suspended_ms);
    process_group->suspended_ms = NEVER_MS;
}

static void
process_group_pass_on(struct process_group *process_group,
                      const struct signalfd_siginfo *received)
{
    const int number = (int)received->ssi_signo;

    if (process_group->suspended_ms != NEVER_MS)
        process_group_resume(process_group);
    /* A second signal kills at once. */
    if (process_group->phase >= PROCESS_GROUP_TERMINATING) {
        process_group_kill(process_group);
        return;
    }
    output_clear_progress(&process_group->output);
    process_group->outcome.passed_signal = number;
    if (process_group_cancel_early(process_group, 128 + number)) {
        warnx("SIG%s received before any worker was started",
              sigabbrev_np(number));
        return;
    }
    warnx("SIG%s received, passed on to the workers", sigabbrev_np(number));
    process_group->phase =
        number == SIGTERM ? PROCESS_GROUP_ENDING : PROCESS_GROUP_TERMINATING;
    process_group->phase_end_ms =
        now_ms() + (int64_t)process_group->options->grace_s * 1000;
    for (uint32_t i = 0; i < process_group->n_workers; i++) {
        const struct worker *worker = &process_group->workers[i];
        /* The terminal has already sent it to its foreground group. */
        const bool has_it = !worker->host && !worker->has_group &&
                            received->ssi_code == SI_QUEUE &&
                            received->ssi_int != 0;
        if (worker->is_running && !has_it)
            signal_send(worker, number);
    }
}

static void
signals_take(struct process_group *process_group)
{
    struct signalfd_siginfo received;

    while (read(process_group->signal_fd, &received, sizeof(received)) ==
           (ssize_t)sizeof(received)) {
        if (received.ssi_signo == SIGCHLD)
            process_group_reap(process_group);
        else if (received.ssi_signo == SIGCONT)
            process_group_resume(process_group);
        else if (received.ssi_signo == SIGTSTP)
            process_group_suspend(process_group);
        else
            process_group_pass_on(process_group, &received);
    }
}

static void
deadlines_look(struct process_group *process_group)
{
    const int64_t now = now_ms();

    if (process_group->suspended_ms != NEVER_MS)
        return;
    if (process_group->phase == PROCESS_GROUP_RUNNING &&
        now >= process_group->run_end_ms) {
        process_group->outcome.has_timed_out = true;
        process_group_report_timeout(process_group);
        if (process_group_cancel_early(process_group, OUTCOME_EXIT_TIMEOUT))
            return;
        process_group_end(process_group);
    }
    if (now < process_group->phase_end_ms)
        return;
    if (process_group->phase == PROCESS_GROUP_TERMINATING)
        process_group_report_kill(process_group, "sending SIGTERM to");
    if (process_group->phase == PROCESS_GROUP_FAILING ||
        process_group->phase == PROCESS_GROUP_TERMINATING)
        process_group_end(process_group);
    else if (process_group->phase == PROCESS_GROUP_ENDING) {
        process_group_report_kill(process_group, "killing");
        process_group_kill(process_group);
    } else if (process_group->phase == PROCESS_GROUP_KILLING)
        hosts_give_up(process_group);
}

/* Return the time until the next deadline; -1: there is none. */
static int
deadline_wait_ms(const struct process_group *process_group)
{
    const int64_t run_end_ms = process_group->phase == PROCESS_GROUP_RUNNING
                                   ? process_group->run_end_ms
                                   : NEVER_MS;
    const int64_t end_ms = run_end_ms < process_group->phase_end_ms
                               ? run_end_ms
                               : process_group->phase_end_ms;
    if (end_ms == NEVER_MS || process_group->suspended_ms != NEVER_MS)
        return -1;

    const int64_t left_ms = end_ms - now_ms();
    if (left_ms < 0)
        return 0;
    return left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

static int
wait_ms(const struct process_group *process_group)
{
    const int wait = deadline_wait_ms(process_group);

    return process_group->hosts && (wait < 0 || wait > TICK_MS) ? TICK_MS
                                                                : wait;
}

/* Kill the workers without a report, since hooprun was killed. */
static void
process_group_die(void)
{
    agent_kill_descendants(0);
    _exit(EXIT_FAILURE);
}

static void
status_line_take(struct process_group *process_group)
{
    const char *line = status_read(&process_group->status);
    const bool has_terminal =
        tcgetpgrp(STDERR_FILENO) == process_group->setup->front->group;

    if (line && process_group->phase == PROCESS_GROUP_RUNNING &&
        process_group->suspended_ms == NEVER_MS)
        output_show_status(&process_group->output, has_terminal ? line : "");
}

static void
process_group_turn(struct process_group *process_group)
{
    struct output *output = &process_group->output;

    process_group->polls[0] =
        (struct pollfd){process_group->signal_fd, POLLIN, 0};
    process_group->polls[1] =
        (struct pollfd){process_group->front_fd, POLLIN, 0};
    process_group->polls[2] =
        (struct pollfd){process_group->status.fd, POLLIN, 0};
    for (uint32_t i = 0; i < output->n_pipes; i++)
        process_group->polls[i + POLL_OTHERS] =
            (struct pollfd){output->pipes[i].fd, POLLIN, 0};
    struct pollfd *of_hosts =
        process_group->polls + POLL_OTHERS + output->n_pipes;
    const uint32_t n_of_hosts =
        process_group->hosts ? hosts_poll(process_group->hosts, of_hosts) : 0;

    if (poll(process_group->polls, POLL_OTHERS + output->n_pipes + n_of_hosts,
             wait_ms(process_group)) > 0) {
        if (process_group->polls[1].revents != 0)
            process_group_die();
        for (uint32_t i = 0; i < output->n_pipes; i++) {
            if (process_group->polls[i + POLL_OTHERS].revents != 0)
                output_read(&output->pipes[i]);
        }
        if (process_group->polls[2].revents != 0)
            status_line_take(process_group);
        if (process_group->hosts)
            hosts_take(process_group->hosts, of_hosts);
        if (process_group->polls[0].revents != 0)
            signals_take(process_group);
    }
    if (process_group->hosts)
        hosts_look(process_group->hosts);
    deadlines_look(process_group);
}

static enum hoop_status
children_start(struct process_group *process_group,
               const struct worker_setup *setup)
{
    const enum hoop_status status =
        workers_start(setup, 0, setup->options->n_workers,
                      process_group->workers, &process_group->n_workers);

    process_group->n_running = process_group->n_workers;
    return status;
}

/* The agents start the workers when all of them are ready. */
static enum hoop_status
hosts_start(struct process_group *process_group,
            const struct worker_setup *setup)
{
    static const struct hosts_events events = {
        .on_started = remote_started,
        .on_output = remote_output,
        .on_ended = remote_ended,
        .on_stopped = remote_stopped,
        .on_lost = remote_lost,
    };

    process_group->hosts = hosts_create(setup, &events, process_group);
    if (!process_group->hosts)
        return HOOP_E_EXHAUSTED;
    process_group->n_workers = process_group->n_running =
        setup->options->n_workers;
    for (uint32_t rank = 0; rank < process_group->n_workers; rank++)
        process_group->workers[rank] = (struct worker){
            .rank = rank,
            .host = hosts_of(process_group->hosts, rank),
            .is_running = true,
            .has_group = true,
            .out_fd = -1,
            .err_fd = -1,
        };
    return HOOP_OK;
}

static enum hoop_status
process_group_start(struct process_group *process_group,
                    const struct worker_setup *setup)
{
    const uint32_t n_workers = setup->options->n_workers;
    sigset_t mask;

    process_group_mask(&mask);
    process_group->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    process_group->workers = calloc(n_workers, sizeof(*process_group->workers));
    process_group->polls =
        calloc(2 * (size_t)n_workers + POLL_OTHERS + hosts_polls_max(setup),
               sizeof(*process_group->polls));
    if (process_group->signal_fd < 0 || !process_group->workers ||
        !process_group->polls) {
        warn("cannot prepare %u workers", n_workers);
        return HOOP_E_EXHAUSTED;
    }
    status_start(&process_group->status, setup, process_group->supervisor);
    enum hoop_status status = setup->options->hosts.n_hosts > 0
                                  ? hosts_start(process_group, setup)
                                  : children_start(process_group, setup);
    if (status != HOOP_OK)
        return status;
    status = output_init(&process_group->output, process_group->workers,
                         n_workers, setup->options->output);
    process_group->output.is_verbatim =
        setup->options->style == OUTPUT_VERBATIM;
    return status;
}

static void
process_group_deinit(struct process_group *process_group)
{
    hosts_destroy(process_group->hosts);
    status_stop(&process_group->status);
    output_deinit(&process_group->output);
    exit_report_close(&process_group->exit_report);
    ends_close(&process_group->ends);
    if (process_group->signal_fd >= 0)
        close(process_group->signal_fd);
    free(process_group->workers);
    free(process_group->polls);
}

/* Some workers could not be started: kill those that were. */
static int
process_group_abandon(struct process_group *process_group,
                      enum hoop_status status)
{
    for (uint32_t i = 0; i < process_group->n_workers; i++) {
        if (process_group->workers[i].host)
            continue;
        worker_signal(&process_group->workers[i], SIGKILL);
        waitpid(process_group->workers[i].pid, NULL, 0);
    }
    if (process_group->hosts)
        hosts_end(process_group->hosts);
    process_group_deinit(process_group);
    return outcome_start_code(status);
}

/* Unless all went well, also kill processes that have left their worker's
 * process group. */
static void
process_group_finish(struct process_group *process_group)
{
    const bool is_good =
        process_group->start_code == 0 &&
        outcome_exit_code(&process_group->outcome) == EXIT_SUCCESS;

    if (process_group->hosts && is_good)
        hosts_end_well(process_group->hosts);
    else if (process_group->hosts)
        hosts_end(process_group->hosts);
    if (!is_good)
        agent_kill_descendants(
            process_group->supervisor ? process_group->supervisor->pid : 0);
    output_drain(&process_group->output);
    output_clear_progress(&process_group->output);
    if (process_group->start_code != 0)
        return;
    process_group_report_end(process_group);
}

int
process_group_run(struct worker_setup *setup,
                  struct supervisor *supervisor,
                  struct outcome *out_outcome)
{
    struct process_group process_group = {
        .options = setup->options,
        .setup = setup,
        .supervisor = supervisor,
        .phase = PROCESS_GROUP_RUNNING,
        .phase_end_ms = NEVER_MS,
        .run_end_ms = NEVER_MS,
        .suspended_ms = NEVER_MS,
        .front_fd = setup->front->fd,
        .outcome.is_forgiving = setup->options->on_exit == ON_EXIT_CONTINUE,
        .signal_fd = -1,
        .status.fd = -1,
    };

    exit_report_open(&process_group.exit_report);
    ends_open(&process_group.ends);
    setup->ends = &process_group.ends;
    setup->endings = process_group.exit_report.path;
    if (setup->options->timeout_s > 0 && setup->run_end_ms == 0)
        setup->run_end_ms =
            now_ms() + (int64_t)setup->options->timeout_s * 1000;
    if (setup->run_end_ms > 0)
        process_group.run_end_ms = setup->run_end_ms;
    const enum hoop_status status = process_group_start(&process_group, setup);
    if (status != HOOP_OK)
        return process_group_abandon(&process_group, status);

    while (process_group.n_running > 0)
        process_group_turn(&process_group);
    process_group_finish(&process_group);
    const bool is_whole = output_is_whole(&process_group.output);
    process_group_deinit(&process_group);
    setup->run_end_ms =
        process_group.run_end_ms == NEVER_MS ? 0 : process_group.run_end_ms;
    *out_outcome = process_group.outcome;
    if (process_group.start_code != 0)
        return process_group.start_code;
    const int code = outcome_exit_code(&process_group.outcome);
    return code == EXIT_SUCCESS && !is_whole ? EXIT_FAILURE : code;
}
