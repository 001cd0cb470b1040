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
#include <time.h>
#include <unistd.h>

#include "hooprun/agent.h"
#include "hooprun/ends.h"
#include "hooprun/obituary.h"
#include "hooprun/outcome.h"
#include "hooprun/output.h"

enum {
    FAILING_MS = 2000,
    FAR_LINES = 10,  /* after which the first failure is told once more */
    LATER_MAX = 4,   /* failures after the first that have a line each */
    POLL_OTHERS = 2, /* the signal descriptor and the front's */
    LIST_MAX = 200,
    CAUSE_MAX = 2 * LIST_MAX,
};

static const int64_t NEVER_MS = INT64_MAX;

enum crew_phase {
    CREW_RUNNING,
    CREW_FAILING,
    CREW_ASKED,
    CREW_ENDING,
    CREW_KILLING,
};

struct crew {
    const struct options *options;
    struct keeper *keeper;
    uint32_t n_workers; /* started */
    uint32_t n_running;
    struct worker *workers;
    struct output output;
    struct outcome outcome;
    struct obituary obituary;
    enum crew_phase phase;
    int64_t phase_end_ms;
    int64_t run_end_ms;
    int64_t suspended_ms; /* since when all stand still */
    struct ends ends;
    uint64_t n_lines_then; /* printed when the first failure was told */
    uint32_t n_later;      /* failures after the first, of their own accord */
    int signal_fd;
    int front_fd;
    struct pollfd *polls; /* POLL_OTHERS, then the pipes */
};

static int64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool
signal_is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 &&
           action.sa_handler == SIG_IGN;
}

static void
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

static void
crew_signal(const struct crew *crew, int number)
{
    for (uint32_t i = 0; i < crew->n_workers; i++) {
        if (crew->workers[i].is_running)
            worker_signal(&crew->workers[i], number);
    }
}

/* "1, 2, 5" */
static void
running_list(const struct crew *crew, char out_text[static LIST_MAX])
{
    size_t n = 0;

    out_text[0] = '\0';
    for (uint32_t i = 0; i < crew->n_workers && n < LIST_MAX - 16; i++) {
        if (!crew->workers[i].is_running)
            continue;
        n += (size_t)snprintf(out_text + n, LIST_MAX - n, "%s%u", n ? ", " : "",
                              crew->workers[i].rank);
    }
    if (n >= LIST_MAX - 16)
        snprintf(out_text + n, LIST_MAX - n, " ...");
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

/* What is done to those that did not end within the grace time. */
static void
stubborn_announce(struct crew *crew, const char *what)
{
    char list[LIST_MAX];

    running_list(crew, list);
    output_clear_progress(&crew->output);
    warnx("%s what did not end by itself within %u s: rank %s", what,
          crew->options->grace_s, list);
}

static void
crew_kill(struct crew *crew)
{
    stubborn_announce(crew, "killing");
    crew->phase = CREW_KILLING;
    crew->phase_end_ms = NEVER_MS;
    crew_signal(crew, SIGKILL);
}

static void
crew_fail(struct crew *crew)
{
    crew->phase = CREW_FAILING;
    crew->phase_end_ms = now_ms() + FAILING_MS;
}

static bool
worker_is_stopped(const struct worker *worker, struct ending *out_stop)
{
    siginfo_t seen = {0};

    if (!worker->is_running ||
        waitid(P_PID, (id_t)worker->pid, &seen, WSTOPPED | WNOHANG | WNOWAIT) !=
            0 ||
        seen.si_pid == 0)
        return false;
    *out_stop =
        (struct ending){worker->rank, worker->pid, W_STOPCODE(seen.si_status)};
    return true;
}

/* Who stands still, and whom the others have waited for. */
static bool
stopped_find(const struct crew *crew, struct ending *out_stop)
{
    for (uint32_t i = 0; i < crew->n_workers; i++) {
        if (worker_is_stopped(&crew->workers[i], out_stop))
            return true;
    }
    return false;
}

static bool
all_are_stopped(const struct crew *crew)
{
    struct ending stop;

    for (uint32_t i = 0; i < crew->n_workers; i++) {
        if (crew->workers[i].is_running &&
            !worker_is_stopped(&crew->workers[i], &stop))
            return false;
    }
    return true;
}

/* "rank 2 (pid 43) is stopped (SIGSTOP); rank 1 (pid 42) exited with code 1" */
static void
failure_describe(const struct crew *crew, char text[CAUSE_MAX])
{
    const struct ending *first = &crew->outcome.first;
    struct ending stop;
    size_t n = 0;

    if (WIFEXITED(first->wait_status) && stopped_find(crew, &stop)) {
        outcome_describe(&stop, text, CAUSE_MAX - 2);
        n = strlen(strcat(text, "; "));
    }
    outcome_describe(first, text + n, CAUSE_MAX - n);
}

/* What the rank said before it ended comes before what is said of its end. */
static void
last_words_read(struct crew *crew, uint32_t rank)
{
    for (uint32_t i = 0; i < crew->output.n_pipes; i++) {
        if (crew->output.pipes[i].rank == rank && crew->output.pipes[i].fd >= 0)
            output_read(&crew->output.pipes[i]);
    }
    output_clear_progress(&crew->output);
}

static void
failure_announce(struct crew *crew)
{
    char text[CAUSE_MAX];

    failure_describe(crew, text);
    last_words_read(crew, crew->outcome.first.rank);
    warnx("%s", text);
    crew->n_lines_then = crew->output.n_lines;
}

/* Those that are left go on. */
static void
loss_announce(struct crew *crew, const struct ending *ending)
{
    char text[CAUSE_MAX];

    outcome_describe(ending, text, sizeof(text));
    last_words_read(crew, ending->rank);
    warnx("%s%s", text, crew->n_running > 0 ? "; the others go on" : "");
}

/* Below the first, in the order of their ends. */
static void
later_announce(struct crew *crew, const struct ending *ending)
{
    char text[CAUSE_MAX];

    if (++crew->n_later > LATER_MAX)
        return;
    outcome_describe(ending, text, sizeof(text));
    last_words_read(crew, ending->rank);
    warnx("then %s", text);
}

static void
later_sum_up(struct crew *crew)
{
    if (crew->n_later <= LATER_MAX)
        return;
    warnx("then %u more failed", crew->n_later - LATER_MAX);
}

/* The lines of the others have moved the cause out of sight. */
static void
failure_repeat(struct crew *crew)
{
    const uint32_t rank = crew->outcome.first.rank;
    char text[CAUSE_MAX];

    if (crew->n_lines_then == 0 || crew->output.last[rank].n_lines == 0 ||
        crew->output.n_lines < crew->n_lines_then + FAR_LINES)
        return;
    outcome_describe(&crew->outcome.first, text, sizeof(text));
    warnx("first of all %s; its last lines:", text);
    output_repeat_last(&crew->output, rank);
}

static void
keeper_lost(struct crew *crew)
{
    waitpid(crew->keeper->pid, NULL, 0);
    crew->keeper->pid = 0;
    output_clear_progress(&crew->output);
    warnx("the embedded coordinator has ended; ending the workers");
    crew->outcome.has_failed = true;
    crew->outcome.first.wait_status = W_EXITCODE(EXIT_FAILURE, 0);
    if (crew->phase == CREW_RUNNING)
        crew_end(crew);
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
    obituary_write(&crew->obituary, &ending);
    worker->is_running = false;
    crew->n_running--;
    if (!outcome_note(&crew->outcome, &ending))
        return;
    if (crew->phase == CREW_RUNNING && crew->outcome.is_forgiving) {
        loss_announce(crew, &ending);
    } else if (crew->phase == CREW_RUNNING) {
        failure_announce(crew);
        crew_fail(crew);
    } else if (crew->phase == CREW_FAILING) {
        later_announce(crew, &ending);
    }
}

static struct worker *
worker_find(struct crew *crew, pid_t pid)
{
    for (uint32_t i = 0; i < crew->n_workers; i++) {
        if (crew->workers[i].pid == pid && crew->workers[i].is_running)
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
        else
            waitpid(ended.si_pid, NULL, 0);
    }
    if (crew->phase == CREW_FAILING && crew->suspended_ms == NEVER_MS &&
        all_are_stopped(crew))
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
        crew_signal(crew, SIGKILL);
        crew->phase = CREW_KILLING;
        crew->phase_end_ms = NEVER_MS;
        return;
    }
    output_clear_progress(&crew->output);
    warnx("SIG%s received, passed on to the workers", sigabbrev_np(number));
    crew->outcome.passed_signal = number;
    crew->phase = number == SIGTERM ? CREW_ENDING : CREW_ASKED;
    crew->phase_end_ms = now_ms() + (int64_t)crew->options->grace_s * 1000;
    for (uint32_t i = 0; i < crew->n_workers; i++) {
        const struct worker *worker = &crew->workers[i];
        /* The terminal has told its foreground group already. */
        const bool has_it = !worker->has_group &&
                            received->ssi_code == SI_QUEUE &&
                            received->ssi_int != 0;
        if (worker->is_running && !has_it)
            worker_signal(worker, number);
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
timeout_announce(struct crew *crew)
{
    struct ending stop;
    char list[LIST_MAX];
    char cause[CAUSE_MAX] = "";

    running_list(crew, list);
    if (stopped_find(crew, &stop))
        outcome_describe(&stop, cause, sizeof(cause));
    output_clear_progress(&crew->output);
    warnx("not finished after %u s (--timeout); ending rank %s%s%s",
          crew->options->timeout_s, list, *cause ? "; " : "", cause);
}

static void
deadlines_look(struct crew *crew)
{
    const int64_t now = now_ms();

    if (crew->suspended_ms != NEVER_MS)
        return;
    if (crew->phase == CREW_RUNNING && now >= crew->run_end_ms) {
        timeout_announce(crew);
        crew->outcome.has_timed_out = true;
        crew_end(crew);
    }
    if (now < crew->phase_end_ms)
        return;
    if (crew->phase == CREW_ASKED)
        stubborn_announce(crew, "sending SIGTERM to");
    if (crew->phase == CREW_FAILING || crew->phase == CREW_ASKED)
        crew_end(crew);
    else if (crew->phase == CREW_ENDING)
        crew_kill(crew);
}

static int
wait_ms(const struct crew *crew)
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

    if (poll(crew->polls, output->n_pipes + POLL_OTHERS, wait_ms(crew)) > 0) {
        if (crew->polls[1].revents != 0)
            crew_vanish();
        for (uint32_t i = 0; i < output->n_pipes; i++) {
            if (crew->polls[i + POLL_OTHERS].revents != 0)
                output_read(&output->pipes[i]);
        }
        if (crew->polls[0].revents != 0)
            signals_take(crew);
    }
    deadlines_look(crew);
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
        calloc(2 * (size_t)n_workers + POLL_OTHERS, sizeof(*crew->polls));
    if (crew->signal_fd < 0 || !crew->workers || !crew->polls) {
        warn("cannot prepare %u workers", n_workers);
        return HOOP_E_EXHAUSTED;
    }
    for (uint32_t rank = 0; rank < n_workers; rank++) {
        const enum hoop_status status =
            worker_start(setup, rank, &crew->workers[rank]);
        if (status != HOOP_OK)
            return status;
        ends_add(&crew->ends, rank, crew->workers[rank].pid);
        crew->n_workers++;
        crew->n_running++;
    }
    return output_init(&crew->output, crew->workers, n_workers,
                       setup->options->output);
}

static void
crew_deinit(struct crew *crew)
{
    output_deinit(&crew->output);
    obituary_close(&crew->obituary);
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
        worker_signal(&crew->workers[i], SIGKILL);
        waitpid(crew->workers[i].pid, NULL, 0);
    }
    crew_deinit(crew);
    if (status == HOOP_E_NOT_FOUND)
        return OUTCOME_EXIT_NOT_FOUND;
    return status == HOOP_E_DENIED ? OUTCOME_EXIT_DENIED : EXIT_FAILURE;
}

int
crew_run(struct worker_setup *setup,
         struct keeper *keeper,
         struct outcome *out_outcome)
{
    struct crew crew = {
        .options = setup->options,
        .keeper = keeper,
        .phase = CREW_RUNNING,
        .phase_end_ms = NEVER_MS,
        .run_end_ms = NEVER_MS,
        .suspended_ms = NEVER_MS,
        .front_fd = setup->front->fd,
        .outcome.is_forgiving = setup->options->on_exit == ON_EXIT_CONTINUE,
        .signal_fd = -1,
    };

    obituary_open(&crew.obituary);
    ends_open(&crew.ends);
    setup->endings = crew.obituary.path;
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
    /* Also what has left the process groups of its workers. */
    if (outcome_exit_code(&crew.outcome) != EXIT_SUCCESS)
        agent_kill_descendants(keeper ? keeper->pid : 0);
    output_drain(&crew.output);
    output_clear_progress(&crew.output);
    later_sum_up(&crew);
    failure_repeat(&crew);
    const bool is_whole = output_is_whole(&crew.output);
    crew_deinit(&crew);
    setup->run_end_ms = crew.run_end_ms == NEVER_MS ? 0 : crew.run_end_ms;
    *out_outcome = crew.outcome;
    const int code = outcome_exit_code(&crew.outcome);
    return code == EXIT_SUCCESS && !is_whole ? EXIT_FAILURE : code;
}
