/* hooprun/crew_report.c - what hooprun says of failures, stops and limits */

#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "hoop/control.h"

#include "clock_ms.h"
#include "hooprun/crew_state.h"

enum {
    FAR_LINES = 10, /* after which the first failure is told once more */
    LATER_MAX = 4,  /* failures after the first that have a line each */
    LIST_MAX = 200,
    CAUSE_MAX = 4 * LIST_MAX,
    /* What the coordinator knows it is asked for so long, and so often. */
    CULPRIT_MS = 200,
    CULPRIT_LOOK_NS = 10 * 1000 * 1000,
};

/* "ranks 1, 2, 5" */
static void
running_list(const struct crew *crew, char out_text[static LIST_MAX])
{
    const char *before = crew->n_running == 1 ? "rank " : "ranks ";
    size_t n = 0;

    out_text[0] = '\0';
    for (uint32_t i = 0; i < crew->n_workers && n < LIST_MAX - 16; i++) {
        if (!crew->workers[i].is_running)
            continue;
        n += (size_t)snprintf(out_text + n, LIST_MAX - n, "%s%u", before,
                              crew->workers[i].rank);
        before = ", ";
    }
    if (n >= LIST_MAX - 16)
        snprintf(out_text + n, LIST_MAX - n, " ...");
}

static bool
worker_is_stopped(const struct worker *worker, struct ending *out_stop)
{
    siginfo_t seen = {0};

    if (worker->host) {
        *out_stop = (struct ending){
            .rank = worker->rank,
            .pid = worker->pid,
            .wait_status = W_STOPCODE(worker->stop_signal),
            .host = host_name(worker->host),
        };
        return worker->is_running && worker->stop_signal != 0;
    }
    if (!worker->is_running ||
        waitid(P_PID, (id_t)worker->pid, &seen, WSTOPPED | WNOHANG | WNOWAIT) !=
            0 ||
        seen.si_pid == 0)
        return false;
    *out_stop = (struct ending){
        .rank = worker->rank,
        .pid = worker->pid,
        .wait_status = W_STOPCODE(seen.si_status),
    };
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

bool
crew_is_stopped(const struct crew *crew)
{
    struct ending stop;

    for (uint32_t i = 0; i < crew->n_workers; i++) {
        if (crew->workers[i].is_running &&
            !worker_is_stopped(&crew->workers[i], &stop))
            return false;
    }
    return true;
}

void
crew_report_stubborn(struct crew *crew, const char *what)
{
    char list[LIST_MAX];

    running_list(crew, list);
    output_clear_progress(&crew->output);
    warnx("%s what did not end by itself within %u s: %s", what,
          crew->options->grace_s, list);
}

/* "nothing was heard of host b for 3.1 s; " */
static int
silence_describe(const struct crew *crew, char text[LIST_MAX])
{
    const struct host *host =
        crew->hosts ? hosts_find_silent(crew->hosts) : NULL;

    text[0] = '\0';
    if (!host)
        return 0;
    return snprintf(text, LIST_MAX,
                    "nothing was heard of host %.100s for %.1f s; ",
                    host_name(host), host_silent_ms(host) / 1e3);
}

/* Ahead of it for what it may have waited: "rank 2 (pid 43) is stopped (SIGSTOP);
 * rank 1 (pid 42) exited with code 1" */
static void
failure_describe(const struct crew *crew, char text[CAUSE_MAX])
{
    const struct ending *first = &crew->outcome.first;
    struct ending stop;
    size_t n = 0;

    if (WIFEXITED(first->wait_status) && !first->is_lost)
        n = (size_t)silence_describe(crew, text);
    const struct ending *cause = &crew->culprit;
    if (WIFEXITED(first->wait_status) && stopped_find(crew, &stop))
        cause = &stop;
    if (n == 0 && (cause == &stop || cause->reason)) {
        outcome_describe(cause, text, CAUSE_MAX - 2);
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

/* False: it is not known yet who gave up first, or how the one that failed was lost.
 */
static bool
culprit_take(struct crew *crew, const struct hoop_control_roster *roster)
{
    const struct hoop_control_rank *first = NULL;
    bool is_known = true;

    for (size_t i = 0; i < roster->n_ranks; i++) {
        const struct hoop_control_rank *rank = &roster->ranks[i];

        if (rank->given_up_revision > 0 &&
            (!first || rank->given_up_revision < first->given_up_revision))
            first = rank;
        if (rank->rank == crew->outcome.first.rank)
            is_known = strcmp(rank->state, "active") != 0;
    }
    if (!first || first->rank >= crew->n_workers ||
        !crew->workers[first->rank].is_running)
        return first || is_known;
    const struct worker *worker = &crew->workers[first->rank];

    hoop_escape(first->reason, crew->culprit_reason, CREW_REASON_MAX);
    crew->culprit = (struct ending){
        .rank = worker->rank,
        .pid = worker->pid,
        .host = worker->host ? host_name(worker->host) : NULL,
        .reason = crew->culprit_reason,
    };
    return true;
}

/* Others may have ended before the one they waited for, which gave up and writes its
 * traceback yet. */
static void
culprit_find(struct crew *crew)
{
    const struct hoop_control_options options = {
        .coordinator = crew->setup->coordinator,
        .job = crew->options->job,
        .token = crew->setup->token,
        .timeout_ms = CULPRIT_MS,
    };
    const struct hoop_control_roster *roster = NULL;
    const int64_t end_ms = now_ms() + CULPRIT_MS;
    hoop_control_t *control = NULL;

    if (hoop_control_create(&options, &control) != HOOP_OK)
        return;
    while (now_ms() < end_ms &&
           hoop_control_ranks(control, &roster) == HOOP_OK &&
           !culprit_take(crew, roster))
        nanosleep(&(struct timespec){.tv_nsec = CULPRIT_LOOK_NS}, NULL);
    hoop_control_destroy(control);
}

void
crew_report_failure(struct crew *crew)
{
    char text[CAUSE_MAX];

    if (WIFEXITED(crew->outcome.first.wait_status) && crew->n_running > 0 &&
        crew->setup->coordinator)
        culprit_find(crew);
    failure_describe(crew, text);
    if (crew->culprit.reason)
        last_words_read(crew, crew->culprit.rank);
    last_words_read(crew, crew->outcome.first.rank);
    warnx("%s", text);
    crew->n_lines_then = crew->output.n_lines;
}

void
crew_report_loss(struct crew *crew, const struct ending *ending)
{
    char text[CAUSE_MAX];

    outcome_describe(ending, text, sizeof(text));
    last_words_read(crew, ending->rank);
    warnx("%s%s", text, crew->n_running > 0 ? "; the others go on" : "");
}

void
crew_report_later(struct crew *crew, const struct ending *ending)
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
    const struct ending *first =
        crew->culprit.reason ? &crew->culprit : &crew->outcome.first;
    const uint32_t rank = first->rank;
    char text[CAUSE_MAX];

    if (crew->n_lines_then == 0 || crew->output.last[rank].n_lines == 0 ||
        crew->output.n_lines < crew->n_lines_then + FAR_LINES)
        return;
    outcome_describe(first, text, sizeof(text));
    warnx("first of all %s; its last lines:", text);
    output_repeat_last(&crew->output, rank);
}

void
crew_report_timeout(struct crew *crew)
{
    struct ending stop;
    char list[LIST_MAX];
    char cause[CAUSE_MAX] = "";

    if (crew->hosts && !hosts_have_begun(crew->hosts)) {
        warnx("not finished after %u s (--timeout); no worker was started yet",
              crew->options->timeout_s);
        return;
    }
    running_list(crew, list);
    if (stopped_find(crew, &stop))
        outcome_describe(&stop, cause, sizeof(cause));
    output_clear_progress(&crew->output);
    warnx("not finished after %u s (--timeout); ending %s%s%s",
          crew->options->timeout_s, list, *cause ? "; " : "", cause);
}

void
crew_report_end(struct crew *crew)
{
    later_sum_up(crew);
    failure_repeat(crew);
}
