/* hooprun/process_group_report.c - prints failures, stops and limits of a
 * run */

#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "hoop/control.h"

#include "clock_ms.h"
#include "hooprun/process_group_state.h"

enum {
    FAR_LINES = 10, /* after this many more lines the first failure is
                       printed again */
    LATER_MAX = 4,  /* later failures that are printed in a line each */
    LIST_MAX = 200,
    CAUSE_MAX = 4 * LIST_MAX,
    /* For how long, and how often, the coordinator is asked for the cause. */
    CULPRIT_MS = 200,
    CULPRIT_LOOK_NS = 10 * 1000 * 1000,
};

/* "ranks 1, 2, 5" */
static void
running_list(const struct process_group *process_group,
             char out_text[static LIST_MAX])
{
    const char *before = process_group->n_running == 1 ? "rank " : "ranks ";
    size_t n = 0;

    out_text[0] = '\0';
    for (uint32_t i = 0; i < process_group->n_workers && n < LIST_MAX - 16;
         i++) {
        if (!process_group->workers[i].is_running)
            continue;
        n += (size_t)snprintf(out_text + n, LIST_MAX - n, "%s%u", before,
                              process_group->workers[i].rank);
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

/* Find a worker that is stopped and for which the others have waited. */
static bool
stopped_find(const struct process_group *process_group, struct ending *out_stop)
{
    for (uint32_t i = 0; i < process_group->n_workers; i++) {
        if (worker_is_stopped(&process_group->workers[i], out_stop))
            return true;
    }
    return false;
}

bool
process_group_is_stopped(const struct process_group *process_group)
{
    struct ending stop;

    for (uint32_t i = 0; i < process_group->n_workers; i++) {
        if (process_group->workers[i].is_running &&
            !worker_is_stopped(&process_group->workers[i], &stop))
            return false;
    }
    return true;
}

void
process_group_report_kill(struct process_group *process_group, const char *what)
{
    char list[LIST_MAX];

    running_list(process_group, list);
    output_clear_progress(&process_group->output);
    warnx("%s what did not end by itself within %u s: %s", what,
          process_group->options->grace_s, list);
}

/* "nothing was heard of host b for 3.1 s; " */
static int
silence_describe(const struct process_group *process_group, char text[LIST_MAX])
{
    const struct host *host =
        process_group->hosts ? hosts_find_silent(process_group->hosts) : NULL;

    text[0] = '\0';
    if (!host)
        return 0;
    return snprintf(text, LIST_MAX,
                    "nothing was heard of host %.100s for %.1f s; ",
                    host_name(host), host_silent_ms(host) / 1e3);
}

/* Describe the worker for which the one waited that gave up with reason, if it
 * still runs: "rank 1 (pid 42) has not called what others wait for; " */
static size_t
awaited_describe(const struct process_group *process_group,
                 const char *reason,
                 char text[CAUSE_MAX])
{
    uint32_t rank = 0;

    if (!outcome_find_awaited(reason, &rank) ||
        rank >= process_group->n_workers ||
        !process_group->workers[rank].is_running)
        return 0;
    const struct worker *worker = &process_group->workers[rank];
    const struct ending awaited = {
        .rank = rank,
        .pid = worker->pid,
        .host = worker->host ? host_name(worker->host) : NULL,
        .reason = "has not called what others wait for",
    };

    outcome_describe(&awaited, text, LIST_MAX - 2);
    return strlen(strcat(text, "; "));
}

/* Prefixed by what it may have waited for: "rank 2 (pid 43) is stopped
 * (SIGSTOP); rank 1 (pid 42) exited with code 1" */
static void
failure_describe(const struct process_group *process_group,
                 char text[CAUSE_MAX])
{
    const struct ending *first = &process_group->outcome.first;
    struct ending stop;
    size_t n = 0;

    if (WIFEXITED(first->wait_status) && !first->is_lost)
        n = (size_t)silence_describe(process_group, text);
    const struct ending *cause = &process_group->culprit;
    if (WIFEXITED(first->wait_status) && stopped_find(process_group, &stop))
        cause = &stop;
    if (n == 0 && (cause == &stop || cause->reason)) {
        if (cause->reason)
            n = awaited_describe(process_group, cause->reason, text);
        outcome_describe(cause, text + n, CAUSE_MAX - n - 2);
        n = strlen(strcat(text, "; "));
    }
    outcome_describe(first, text + n, CAUSE_MAX - n);
}

/* Print what the rank wrote before its end first. */
static void
last_words_read(struct process_group *process_group, uint32_t rank)
{
    for (uint32_t i = 0; i < process_group->output.n_pipes; i++) {
        if (process_group->output.pipes[i].rank == rank &&
            process_group->output.pipes[i].fd >= 0)
            output_read(&process_group->output.pipes[i]);
    }
    output_clear_progress(&process_group->output);
}

/* Return false if it is not known yet which rank gave up first, or how the
 * failed one was lost. */
static bool
culprit_take(struct process_group *process_group,
             const struct hoop_control_roster *roster)
{
    const struct hoop_control_rank *first = NULL;
    bool is_known = true;

    for (size_t i = 0; i < roster->n_ranks; i++) {
        const struct hoop_control_rank *rank = &roster->ranks[i];

        if (rank->given_up_revision > 0 &&
            (!first || rank->given_up_revision < first->given_up_revision))
            first = rank;
        if (rank->rank == process_group->outcome.first.rank)
            is_known = strcmp(rank->state, "active") != 0;
    }
    if (!first || first->rank >= process_group->n_workers ||
        !process_group->workers[first->rank].is_running)
        return first || is_known;
    const struct worker *worker = &process_group->workers[first->rank];

    hoop_escape(first->reason, process_group->culprit_reason,
                PROCESS_GROUP_REASON_MAX);
    process_group->culprit = (struct ending){
        .rank = worker->rank,
        .pid = worker->pid,
        .host = worker->host ? host_name(worker->host) : NULL,
        .reason = process_group->culprit_reason,
    };
    return true;
}

/* The rank that gave up first may still run, to write its traceback, when ranks
 * that waited for it have ended. */
static void
culprit_find(struct process_group *process_group)
{
    const struct hoop_control_options options = {
        .coordinator = process_group->setup->coordinator,
        .job = process_group->options->job,
        .token = process_group->setup->token,
        .timeout_ms = CULPRIT_MS,
    };
    const struct hoop_control_roster *roster = NULL;
    const int64_t end_ms = now_ms() + CULPRIT_MS;
    hoop_control_t *control = NULL;

    if (hoop_control_create(&options, &control) != HOOP_OK)
        return;
    while (now_ms() < end_ms &&
           hoop_control_ranks(control, &roster) == HOOP_OK &&
           !culprit_take(process_group, roster))
        nanosleep(&(struct timespec){.tv_nsec = CULPRIT_LOOK_NS}, NULL);
    hoop_control_destroy(control);
}

void
process_group_report_failure(struct process_group *process_group)
{
    char text[CAUSE_MAX];

    if (WIFEXITED(process_group->outcome.first.wait_status) &&
        process_group->n_running > 0 && process_group->setup->coordinator)
        culprit_find(process_group);
    failure_describe(process_group, text);
    if (process_group->culprit.reason)
        last_words_read(process_group, process_group->culprit.rank);
    last_words_read(process_group, process_group->outcome.first.rank);
    warnx("%s", text);
    process_group->n_lines_then = process_group->output.n_lines;
}

void
process_group_report_loss(struct process_group *process_group,
                          const struct ending *ending)
{
    char text[CAUSE_MAX];

    outcome_describe(ending, text, sizeof(text));
    last_words_read(process_group, ending->rank);
    warnx("%s%s", text,
          process_group->n_running > 0 ? "; the others go on" : "");
}

void
process_group_report_later(struct process_group *process_group,
                           const struct ending *ending)
{
    char text[CAUSE_MAX];

    if (++process_group->n_later > LATER_MAX)
        return;
    outcome_describe(ending, text, sizeof(text));
    last_words_read(process_group, ending->rank);
    warnx("then %s", text);
}

static void
later_sum_up(struct process_group *process_group)
{
    if (process_group->n_later <= LATER_MAX)
        return;
    warnx("then %u more failed", process_group->n_later - LATER_MAX);
}

/* The lines of other ranks have scrolled the cause out of sight. */
static void
failure_repeat(struct process_group *process_group)
{
    const struct ending *first = process_group->culprit.reason
                                     ? &process_group->culprit
                                     : &process_group->outcome.first;
    const uint32_t rank = first->rank;
    char text[CAUSE_MAX];

    if (process_group->n_lines_then == 0 ||
        process_group->output.last[rank].n_lines == 0 ||
        process_group->output.n_lines < process_group->n_lines_then + FAR_LINES)
        return;
    outcome_describe(first, text, sizeof(text));
    warnx("first of all %s; its last lines:", text);
    output_repeat_last(&process_group->output, rank);
}

void
process_group_report_timeout(struct process_group *process_group)
{
    struct ending stop;
    char list[LIST_MAX];
    char cause[CAUSE_MAX] = "";

    if (process_group->hosts && !hosts_have_begun(process_group->hosts)) {
        warnx("not finished after %u s (--timeout); no worker was started yet",
              process_group->options->timeout_s);
        return;
    }
    running_list(process_group, list);
    if (stopped_find(process_group, &stop))
        outcome_describe(&stop, cause, sizeof(cause));
    output_clear_progress(&process_group->output);
    warnx("not finished after %u s (--timeout); ending %s%s%s",
          process_group->options->timeout_s, list, *cause ? "; " : "", cause);
}

void
process_group_report_end(struct process_group *process_group)
{
    later_sum_up(process_group);
    failure_repeat(process_group);
}
