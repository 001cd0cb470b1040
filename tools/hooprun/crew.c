/*
 * hooprun/crew.c - the poll loop: signals, pipes, deadlines
 *
 *   RUNNING --a worker fails--> FAILING --2 s--> ENDING --grace--> KILLING
 *      |\______SIGTERM, timeout____________________^ ^
 *       \______SIGINT, SIGHUP, SIGQUIT--> ASKED --grace
 *
 * In FAILING the survivors may still notice the loss and say what it means to
 * them; their own texts are worth more than ours. ASKED has passed on the signal
 * that hooprun got, ENDING has sent SIGTERM, KILLING SIGKILL. Each state ends
 * early when nobody is left, FAILING also when all who are left stand still: they
 * say nothing more.
 */

#include "hooprun/crew.h"

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
#include "hooprun/crew_state.h"

enum {
    FAILING_MS = 2000,
    POLL_OTHERS = 2,  /* the signal descriptor and the front's */
    KILLED_MS = 5000, /* until a host on which ranks were killed is given up */
    TICK_MS = 1000,   /* with other hosts, whose silence has to be noticed */
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
crew_mask(sigset_t *out_mask)
{
    static const int ignorable[] = {SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU};

    sigemptyset(out_mask);
    sigaddset(out_mask, SIGCHLD);
    /* nohup's wish; a descriptor of signals hears ignored ones, too. */
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
crew_block(sigset_t *out_mask, sigset_t *out_old_mask)
{
    /* If SIGCHLD was ignored when hooprun was started, the kernel would reap
     * the workers, and neither their exit codes nor their ends be told. */
    signal(SIGCHLD, SIG_DFL);
    crew_mask(out_mask);
    sigprocmask(SIG_BLOCK, out_mask, out_old_mask);
}

/* Wherever it runs. */
static void
signal_send(const struct worker *worker, int number)
{
    if (worker->host)
        host_signal(worker->host, worker->rank, number);
    else
        worker_signal(worker, number);
}

static void
crew_signal(const struct crew *crew, int number)
{
    for (uint32_t i = 0; i < crew->n_workers; i++) {
        if (crew->workers[i].is_running)
            signal_send(&crew->workers[i], number);
    }
}

static void
crew_end(struct crew *crew)
{
    crew->phase = CREW_ENDING;
    crew->phase_end_ms = now_ms() + (int64_t)crew->options->grace_s * 1000;
    crew_signal(crew, SIGTERM);
    /* Who is stopped could not obey. */
    crew_signal(crew, SIGCONT);
}

static void
crew_kill(struct crew *crew)
{
    crew->phase = CREW_KILLING;
    crew->phase_end_ms = crew->hosts ? now_ms() + KILLED_MS : NEVER_MS;
    crew_signal(crew, SIGKILL);
}

/* SIGKILL works at once, unless it did not get there. */
static void
hosts_give_up(struct crew *crew)
{
    crew->phase_end_ms = NEVER_MS;
    for (uint32_t i = 0; i < crew->n_workers; i++) {
        if (crew->workers[i].is_running)
            host_abandon(crew->workers[i].host);
    }
}

static void
crew_fail(struct crew *crew)
{
    crew->phase = CREW_FAILING;
    crew->output.is_failing = true;
    crew->phase_end_ms = now_ms() + FAILING_MS;
}

/* No worker was started, or none is needed any more. */
static void
crew_cancel(struct crew *crew)
{
    for (uint32_t i = 0; i < crew->n_workers; i++)
        crew->workers[i].is_running = false;
    crew->n_running = 0;
}

/* Before all hosts are ready. False: the workers are started. */
static bool
crew_cancel_early(struct crew *crew, int code)
{
    if (!crew->hosts || hosts_have_begun(crew->hosts))
        return false;
    crew->start_code = code;
    crew_cancel(crew);
    return true;
}

static void
keeper_lost(struct crew *crew)
{
    waitpid(crew->keeper->pid, NULL, 0);
    crew->keeper->pid = 0;
    output_clear_progress(&crew->output);
    crew->outcome.has_failed = true;
    crew->outcome.first.wait_status = W_EXITCODE(EXIT_FAILURE, 0);
    const bool is_early = crew_cancel_early(crew, EXIT_FAILURE);
    warnx("the embedded coordinator has ended; %s",
          is_early ? "no worker was started yet" : "ending the workers");
    if (!is_early && crew->phase == CREW_RUNNING)
        crew_end(crew);
}

/* It is reaped, here or on its host. */
static void
worker_ended(struct crew *crew,
             struct worker *worker,
             const struct ending *ending)
{
    worker->is_running = false;
    crew->n_running--;
    if (!outcome_note(&crew->outcome, ending))
        return;
    if (crew->phase == CREW_RUNNING && crew->outcome.is_forgiving) {
        crew_report_loss(crew, ending);
    } else if (crew->phase == CREW_RUNNING) {
        crew_report_failure(crew);
        crew_fail(crew);
    } else if (crew->phase == CREW_FAILING) {
        if (crew->culprit.reason && crew->culprit.rank == ending->rank)
            crew->outcome.first = *ending;
        crew_report_later(crew, ending);
    }
}

static void
worker_reap(struct crew *crew, struct worker *worker)
{
    struct ending ending = {.rank = worker->rank, .pid = worker->pid};

    /*
     * What a failed worker has started shall not outlive it. As long as it is
     * not reaped, nobody else can own its group's number.
     */
    siginfo_t ended = {0};
    waitid(P_PID, (id_t)worker->pid, &ended, WEXITED | WNOHANG | WNOWAIT);
    const bool is_good = ended.si_code == CLD_EXITED && ended.si_status == 0;
    if (worker->has_group && (!is_good || crew->phase >= CREW_ASKED))
        worker_signal(worker, SIGKILL);

    waitpid(worker->pid, &ending.wait_status, 0);
    exit_report_write(&crew->exit_report, &ending);
    worker_ended(crew, worker, &ending);
}

static void
remote_started(void *owner, uint32_t rank, pid_t pid)
{
    struct crew *crew = owner;

    crew->workers[rank].pid = pid;
}

static void
remote_output(void *owner,
              uint32_t rank,
              int fd,
              const char *bytes,
              size_t n_bytes)
{
    struct crew *crew = owner;

    output_feed(&crew->output, rank, fd, bytes, n_bytes);
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
    struct crew *crew = owner;
    struct worker *worker = &crew->workers[rank];
    const struct ending ending = remote_ending(worker, wait_status);

    if (!worker->is_running)
        return;
    hosts_notice(crew->hosts, rank, wait_status);
    worker_ended(crew, worker, &ending);
}

static void
remote_stopped(void *owner, uint32_t rank, int number)
{
    struct crew *crew = owner;

    crew->workers[rank].stop_signal = number;
    if (number != 0 && crew->phase == CREW_FAILING &&
        crew->suspended_ms == NEVER_MS && crew_is_stopped(crew))
        crew_end(crew);
}

static void
remote_lost(void *owner, struct host *host, int code)
{
    struct crew *crew = owner;
    uint32_t n_lost = 0;

    for (uint32_t i = 0; i < crew->n_workers; i++)
        n_lost += crew->workers[i].is_running && crew->workers[i].host == host;
    if (n_lost == 0)
        return;
    output_clear_progress(&crew->output);
    host_explain(host);
    /* Others may have been started already: they end with their hosts. */
    if (host_has_refused(host)) {
        crew->start_code = code;
        crew_cancel(crew);
        return;
    }
    for (uint32_t i = 0; i < crew->n_workers; i++) {
        struct worker *worker = &crew->workers[i];
        struct ending ending;

        if (!worker->is_running || worker->host != host)
            continue;
        ending = remote_ending(worker, W_EXITCODE(EXIT_FAILURE, 0));
        ending.is_lost = true;
        hosts_notice(crew->hosts, worker->rank, ending.wait_status);
        worker_ended(crew, worker, &ending);
    }
}

static struct worker *
worker_find(struct crew *crew, pid_t pid)
{
    for (uint32_t i = 0; i < crew->n_workers; i++) {
        if (crew->workers[i].pid == pid && crew->workers[i].is_running &&
            !crew->workers[i].host)
            return &crew->workers[i];
    }
    return NULL;
}

/* Whether there were any. */
static bool
ends_reap(struct crew *crew)
{
    bool has_reaped = false;
    int64_t i;

    while ((i = ends_next(&crew->ends)) >= 0) {
        struct worker *worker = &crew->workers[i];

        if (!worker->is_running)
            continue;
        worker_reap(crew, worker);
        has_reaped = true;
    }
    return has_reaped;
}

static void
crew_reap(struct crew *crew)
{
    while (crew->n_running > 0) {
        siginfo_t ended = {0};

        if (ends_reap(crew))
            continue;
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            ended.si_pid == 0)
            break;

        struct worker *worker = worker_find(crew, ended.si_pid);

        /* Others may have ended just now, and before it. */
        if (worker && ends_reap(crew))
            continue;
        if (worker)
            worker_reap(crew, worker);
        else if (crew->keeper && ended.si_pid == crew->keeper->pid)
            keeper_lost(crew);
        else if (!crew->hosts || !hosts_reap(crew->hosts, ended.si_pid))
            waitpid(ended.si_pid, NULL, 0);
    }
    if (crew->phase == CREW_FAILING && crew->suspended_ms == NEVER_MS &&
        crew_is_stopped(crew))
        crew_end(crew);
}

/* Time in which nothing runs is none of the deadlines'. */
static void
crew_suspend(struct crew *crew)
{
    if (crew->suspended_ms == NEVER_MS)
        crew->suspended_ms = now_ms();
    crew_signal(crew, SIGSTOP);
    if (crew->keeper && crew->keeper->pid > 0)
        kill(crew->keeper->pid, SIGSTOP);
}

static void
deadline_move(int64_t *deadline_ms, int64_t by_ms)
{
    if (*deadline_ms != NEVER_MS)
        *deadline_ms += by_ms;
}

/* The coordinator first: it forgives what leases have run out meanwhile. */
static void
crew_resume(struct crew *crew)
{
    if (crew->keeper && crew->keeper->pid > 0)
        kill(crew->keeper->pid, SIGCONT);
    crew_signal(crew, SIGCONT);
    if (crew->suspended_ms == NEVER_MS)
        return;
    deadline_move(&crew->phase_end_ms, now_ms() - crew->suspended_ms);
    deadline_move(&crew->run_end_ms, now_ms() - crew->suspended_ms);
    crew->suspended_ms = NEVER_MS;
}

static void
crew_pass_on(struct crew *crew, const struct signalfd_siginfo *received)
{
    const int number = (int)received->ssi_signo;

    if (crew->suspended_ms != NEVER_MS)
        crew_resume(crew);
    /* The second time it is meant. */
    if (crew->phase >= CREW_ASKED) {
        crew_kill(crew);
        return;
    }
    output_clear_progress(&crew->output);
    crew->outcome.passed_signal = number;
    if (crew_cancel_early(crew, 128 + number)) {
        warnx("SIG%s received before any worker was started",
              sigabbrev_np(number));
        return;
    }
    warnx("SIG%s received, passed on to the workers", sigabbrev_np(number));
    crew->phase = number == SIGTERM ? CREW_ENDING : CREW_ASKED;
    crew->phase_end_ms = now_ms() + (int64_t)crew->options->grace_s * 1000;
    for (uint32_t i = 0; i < crew->n_workers; i++) {
        const struct worker *worker = &crew->workers[i];
        /* The terminal has told its foreground group already. */
        const bool has_it = !worker->host && !worker->has_group &&
                            received->ssi_code == SI_QUEUE &&
                            received->ssi_int != 0;
        if (worker->is_running && !has_it)
            signal_send(worker, number);
    }
}

static void
signals_take(struct crew *crew)
{
    struct signalfd_siginfo received;

    while (read(crew->signal_fd, &received, sizeof(received)) ==
           (ssize_t)sizeof(received)) {
        if (received.ssi_signo == SIGCHLD)
            crew_reap(crew);
        else if (received.ssi_signo == SIGCONT)
            crew_resume(crew);
        else if (received.ssi_signo == SIGTSTP)
            crew_suspend(crew);
        else
            crew_pass_on(crew, &received);
    }
}

static void
deadlines_look(struct crew *crew)
{
    const int64_t now = now_ms();

    if (crew->suspended_ms != NEVER_MS)
        return;
    if (crew->phase == CREW_RUNNING && now >= crew->run_end_ms) {
        crew->outcome.has_timed_out = true;
        crew_report_timeout(crew);
        if (crew_cancel_early(crew, OUTCOME_EXIT_TIMEOUT))
            return;
        crew_end(crew);
    }
    if (now < crew->phase_end_ms)
        return;
    if (crew->phase == CREW_ASKED)
        crew_report_stubborn(crew, "sending SIGTERM to");
    if (crew->phase == CREW_FAILING || crew->phase == CREW_ASKED)
        crew_end(crew);
    else if (crew->phase == CREW_ENDING) {
        crew_report_stubborn(crew, "killing");
        crew_kill(crew);
    } else if (crew->phase == CREW_KILLING)
        hosts_give_up(crew);
}

/* Until the next deadline; -1: there is none. */
static int
deadline_wait_ms(const struct crew *crew)
{
    const int64_t run_end_ms =
        crew->phase == CREW_RUNNING ? crew->run_end_ms : NEVER_MS;
    const int64_t end_ms =
        run_end_ms < crew->phase_end_ms ? run_end_ms : crew->phase_end_ms;
    if (end_ms == NEVER_MS || crew->suspended_ms != NEVER_MS)
        return -1;

    const int64_t left_ms = end_ms - now_ms();
    if (left_ms < 0)
        return 0;
    return left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

static int
wait_ms(const struct crew *crew)
{
    const int wait = deadline_wait_ms(crew);

    return crew->hosts && (wait < 0 || wait > TICK_MS) ? TICK_MS : wait;
}

/* hooprun was killed: nobody is left to be told anything. */
static void
crew_vanish(void)
{
    agent_kill_descendants(0);
    _exit(EXIT_FAILURE);
}

static void
crew_turn(struct crew *crew)
{
    struct output *output = &crew->output;

    crew->polls[0] = (struct pollfd){crew->signal_fd, POLLIN, 0};
    crew->polls[1] = (struct pollfd){crew->front_fd, POLLIN, 0};
    for (uint32_t i = 0; i < output->n_pipes; i++)
        crew->polls[i + POLL_OTHERS] =
            (struct pollfd){output->pipes[i].fd, POLLIN, 0};
    struct pollfd *of_hosts = crew->polls + POLL_OTHERS + output->n_pipes;
    const uint32_t n_of_hosts =
        crew->hosts ? hosts_poll(crew->hosts, of_hosts) : 0;

    if (poll(crew->polls, POLL_OTHERS + output->n_pipes + n_of_hosts,
             wait_ms(crew)) > 0) {
        if (crew->polls[1].revents != 0)
            crew_vanish();
        for (uint32_t i = 0; i < output->n_pipes; i++) {
            if (crew->polls[i + POLL_OTHERS].revents != 0)
                output_read(&output->pipes[i]);
        }
        if (crew->hosts)
            hosts_take(crew->hosts, of_hosts);
        if (crew->polls[0].revents != 0)
            signals_take(crew);
    }
    if (crew->hosts)
        hosts_look(crew->hosts);
    deadlines_look(crew);
}

static enum hoop_status
children_start(struct crew *crew, const struct worker_setup *setup)
{
    const enum hoop_status status = workers_start(
        setup, 0, setup->options->n_workers, crew->workers, &crew->n_workers);

    crew->n_running = crew->n_workers;
    return status;
}

/* Their agents start the workers, once all of them are ready. */
static enum hoop_status
hosts_start(struct crew *crew, const struct worker_setup *setup)
{
    static const struct hosts_events events = {
        .on_started = remote_started,
        .on_output = remote_output,
        .on_ended = remote_ended,
        .on_stopped = remote_stopped,
        .on_lost = remote_lost,
    };

    crew->hosts = hosts_create(setup, &events, crew);
    if (!crew->hosts)
        return HOOP_E_EXHAUSTED;
    crew->n_workers = crew->n_running = setup->options->n_workers;
    for (uint32_t rank = 0; rank < crew->n_workers; rank++)
        crew->workers[rank] = (struct worker){
            .rank = rank,
            .host = hosts_of(crew->hosts, rank),
            .is_running = true,
            .has_group = true,
            .out_fd = -1,
            .err_fd = -1,
        };
    return HOOP_OK;
}

static enum hoop_status
crew_start(struct crew *crew, const struct worker_setup *setup)
{
    const uint32_t n_workers = setup->options->n_workers;
    sigset_t mask;

    crew_mask(&mask);
    crew->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    crew->workers = calloc(n_workers, sizeof(*crew->workers));
    crew->polls =
        calloc(2 * (size_t)n_workers + POLL_OTHERS + hosts_polls_max(setup),
               sizeof(*crew->polls));
    if (crew->signal_fd < 0 || !crew->workers || !crew->polls) {
        warn("cannot prepare %u workers", n_workers);
        return HOOP_E_EXHAUSTED;
    }
    enum hoop_status status = setup->options->hosts.n_hosts > 0
                                  ? hosts_start(crew, setup)
                                  : children_start(crew, setup);
    if (status != HOOP_OK)
        return status;
    status = output_init(&crew->output, crew->workers, n_workers,
                         setup->options->output);
    crew->output.is_verbatim = setup->options->style == OUTPUT_VERBATIM;
    return status;
}

static void
crew_deinit(struct crew *crew)
{
    hosts_destroy(crew->hosts);
    output_deinit(&crew->output);
    exit_report_close(&crew->exit_report);
    ends_close(&crew->ends);
    if (crew->signal_fd >= 0)
        close(crew->signal_fd);
    free(crew->workers);
    free(crew->polls);
}

/* Some workers could not be started: those that were go at once. */
static int
crew_abandon(struct crew *crew, enum hoop_status status)
{
    for (uint32_t i = 0; i < crew->n_workers; i++) {
        if (crew->workers[i].host)
            continue;
        worker_signal(&crew->workers[i], SIGKILL);
        waitpid(crew->workers[i].pid, NULL, 0);
    }
    if (crew->hosts)
        hosts_end(crew->hosts);
    crew_deinit(crew);
    return outcome_start_code(status);
}

/* What has left the process groups of its workers goes, too, unless all is well. */
static void
crew_finish(struct crew *crew)
{
    const bool is_good = crew->start_code == 0 &&
                         outcome_exit_code(&crew->outcome) == EXIT_SUCCESS;

    if (crew->hosts && is_good)
        hosts_end_well(crew->hosts);
    else if (crew->hosts)
        hosts_end(crew->hosts);
    if (!is_good)
        agent_kill_descendants(crew->keeper ? crew->keeper->pid : 0);
    output_drain(&crew->output);
    output_clear_progress(&crew->output);
    if (crew->start_code != 0)
        return;
    crew_report_end(crew);
}

int
crew_run(struct worker_setup *setup,
         struct keeper *keeper,
         struct outcome *out_outcome)
{
    struct crew crew = {
        .options = setup->options,
        .setup = setup,
        .keeper = keeper,
        .phase = CREW_RUNNING,
        .phase_end_ms = NEVER_MS,
        .run_end_ms = NEVER_MS,
        .suspended_ms = NEVER_MS,
        .front_fd = setup->front->fd,
        .outcome.is_forgiving = setup->options->on_exit == ON_EXIT_CONTINUE,
        .signal_fd = -1,
    };

    exit_report_open(&crew.exit_report);
    ends_open(&crew.ends);
    setup->ends = &crew.ends;
    setup->endings = crew.exit_report.path;
    if (setup->options->timeout_s > 0 && setup->run_end_ms == 0)
        setup->run_end_ms =
            now_ms() + (int64_t)setup->options->timeout_s * 1000;
    if (setup->run_end_ms > 0)
        crew.run_end_ms = setup->run_end_ms;
    const enum hoop_status status = crew_start(&crew, setup);
    if (status != HOOP_OK)
        return crew_abandon(&crew, status);

    while (crew.n_running > 0)
        crew_turn(&crew);
    crew_finish(&crew);
    const bool is_whole = output_is_whole(&crew.output);
    crew_deinit(&crew);
    setup->run_end_ms = crew.run_end_ms == NEVER_MS ? 0 : crew.run_end_ms;
    *out_outcome = crew.outcome;
    if (crew.start_code != 0)
        return crew.start_code;
    const int code = outcome_exit_code(&crew.outcome);
    return code == EXIT_SUCCESS && !is_whole ? EXIT_FAILURE : code;
}
