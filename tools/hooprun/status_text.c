/* hooprun/status_text.c - one line that says how a job is doing */

#include "hooprun/status_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RENEWALS_APART_MS = 100, /* less is the jitter of one and the same */
    RENEWAL_LATE_MS = 1000,  /* and half its interval: the rank is silent */
};

/* Shares of the time from which on ranks are said to wait. */
static const double WAITS_MUCH = 0.25;
static const double WAITS_ONLY = 0.5;

struct line {
    char *text; /* [STATUS_TEXT_MAX] */
    size_t n_bytes;
};

static void
line_add(struct line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What does not fit is left out. */
static void
line_add(struct line *line, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    const int n = vsnprintf(line->text + line->n_bytes,
                            STATUS_TEXT_MAX - line->n_bytes, format, arguments);
    va_end(arguments);
    if (n > 0)
        line->n_bytes += (size_t)n;
    if (line->n_bytes >= STATUS_TEXT_MAX)
        line->n_bytes = STATUS_TEXT_MAX - 1;
}

static void
line_add_foreign(struct line *line, const char *text)
{
    char safe[STATUS_TEXT_MAX];

    hoop_escape(text, safe, sizeof(safe));
    line_add(line, "%s", safe);
}

/* "12.3 k" of calls, "1.23 G" of bytes */
static void
line_add_rate(struct line *line, double rate)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    size_t i = 0;

    for (; rate >= 999.5 && i + 1 < sizeof(prefixes) / sizeof(*prefixes); i++)
        rate /= 1000;
    const int n_digits = rate < 9.995 && i > 0          ? 2
                         : rate < 99.95 && rate >= 0.05 ? 1
                                                        : 0;

    line_add(line, "%.*f %s", n_digits, rate, prefixes[i]);
}

void
status_text_deinit(struct status_text *status)
{
    free(status->ranks);
    *status = (struct status_text){0};
}

static bool
ranks_resize(struct status_text *status, size_t n_ranks)
{
    struct status_rank *ranks =
        realloc(status->ranks, (n_ranks + 1) * sizeof(*ranks));

    if (!ranks)
        return false;
    status->ranks = ranks;
    if (n_ranks > status->n_ranks)
        memset(ranks + status->n_ranks, 0,
               (n_ranks - status->n_ranks) * sizeof(*ranks));
    status->n_ranks = n_ranks;
    return true;
}

static double
rate_per_s(uint64_t before, uint64_t now, double took_ms)
{
    return now > before ? (double)(now - before) * 1000 / took_ms : 0;
}

/* The lease ends a fixed time after its renewal. */
static void
rank_update(struct status_rank *known,
            const struct hoop_control_rank *rank,
            int64_t now_ms)
{
    const int64_t told_ms = now_ms + (int64_t)rank->lease_left_ms;
    const int64_t took_ms = told_ms - known->told_ms;
    const bool is_same =
        known->incarnation == rank->incarnation && known->incarnation != 0;

    if (strcmp(rank->state, "active") != 0 || !rank->totals) {
        *known = (struct status_rank){0};
        return;
    }
    /* A lease that has run out does not say when it was renewed. */
    if (is_same && (took_ms < RENEWALS_APART_MS || rank->lease_left_ms == 0)) {
        known->has_rates &= now_ms - known->changed_ms <
                            known->interval_ms * 3 / 2 + RENEWAL_LATE_MS;
        return;
    }
    const struct status_rank before = *known;

    *known = (struct status_rank){.incarnation = rank->incarnation,
                                  .told_ms = told_ms,
                                  .changed_ms = now_ms,
                                  .interval_ms = took_ms,
                                  .totals = *rank->totals,
                                  .has_rates = is_same};
    if (!is_same)
        return;
    known->calls =
        rate_per_s(before.totals.calls, known->totals.calls, (double)took_ms);
    known->bytes = rate_per_s(before.totals.bytes_sent,
                              known->totals.bytes_sent, (double)took_ms);
    known->waits = rate_per_s(before.totals.wait_us, known->totals.wait_us,
                              (double)took_ms) *
                   1e-6;
    known->waits = known->waits > 1 ? 1 : known->waits;
}

bool
status_text_update(struct status_text *status,
                   const struct hoop_control_roster *roster,
                   int64_t now_ms)
{
    if (!ranks_resize(status, roster->n_ranks))
        return false;
    for (size_t i = 0; i < roster->n_ranks; i++)
        rank_update(&status->ranks[i], &roster->ranks[i], now_ms);
    return true;
}

/* All ranks that have rates. */
struct sums {
    size_t n_ranks;
    double calls;
    double bytes;
    double waits;
    size_t least; /* which of them waits least */
};

static struct sums
ranks_sum(const struct status_text *status)
{
    struct sums sums = {0};

    for (size_t i = 0; i < status->n_ranks; i++) {
        const struct status_rank *rank = &status->ranks[i];

        if (!rank->has_rates)
            continue;
        if (sums.n_ranks++ == 0 ||
            rank->waits < status->ranks[sums.least].waits)
            sums.least = i;
        sums.calls += rank->calls;
        sums.bytes += rank->bytes;
        sums.waits += rank->waits;
    }
    return sums;
}

bool
status_text_is_stuck(const struct status_text *status)
{
    const struct sums sums = ranks_sum(status);

    return sums.n_ranks > 0 && sums.calls <= 0 && sums.waits > WAITS_ONLY;
}

static size_t
ranks_count(const struct hoop_control_roster *roster, const char *state)
{
    size_t n = 0;

    for (size_t i = 0; i < roster->n_ranks; i++)
        n += strcmp(roster->ranks[i].state, state) == 0;
    return n;
}

static void
line_add_forming(struct line *line, const struct hoop_control_roster *roster)
{
    line_add(line, "%u", roster->job.n_members);
    if (roster->job.size > 0)
        line_add(line, " of %u", roster->job.size);
    line_add(line, " ranks have joined");
    if (roster->missing[0]) {
        line_add(line, ", missing: ");
        line_add_foreign(line, roster->missing);
    }
}

/* The rank whose call has waited longest, and for whom. */
static void
line_add_awaited(struct line *line, const struct hoop_control_roster *roster)
{
    const struct hoop_control_rank *longest = NULL;

    for (size_t i = 0; i < roster->n_ranks; i++) {
        const struct hoop_control_rank *rank = &roster->ranks[i];

        if (rank->activity && rank->activity->waits_for[0] &&
            (!longest || rank->activity->age_ms > longest->activity->age_ms))
            longest = rank;
    }
    if (!longest)
        return;
    line_add(line, "; rank %u waits since %.0f s for ", longest->rank,
             (double)longest->activity->age_ms * 1e-3);
    line_add_foreign(line, longest->activity->waits_for);
}

/* The others wait, and one does so much less. */
static void
line_add_slow(struct line *line,
              const struct status_text *status,
              const struct hoop_control_roster *roster,
              const struct sums *sums)
{
    if (sums->n_ranks < 2)
        return;
    const double least = status->ranks[sums->least].waits;
    const double others = (sums->waits - least) / (double)(sums->n_ranks - 1);

    if (others >= WAITS_MUCH && least < others / 2)
        line_add(line, "; rank %u is slow: others wait %.0f%% of the time",
                 roster->ranks[sums->least].rank, 100 * others);
}

void
status_text_format(const struct status_text *status,
                   const struct hoop_control_roster *roster,
                   const struct hoop_control_roster *activities,
                   char out_text[static STATUS_TEXT_MAX])
{
    const struct sums sums = ranks_sum(status);
    const size_t n_active = ranks_count(roster, "active");
    const size_t n_lost = ranks_count(roster, "lost");
    struct line line = {out_text, 0};

    out_text[0] = '\0';
    line_add(&line, "hoop: ");
    if (strcmp(roster->job.state, "forming") == 0) {
        line_add_forming(&line, roster);
        return;
    }
    line_add(&line, n_active == 1 ? "%zu rank" : "%zu ranks", n_active);
    if (n_lost > 0)
        line_add(&line, ", %zu lost", n_lost);
    if (sums.n_ranks == 0)
        return;
    line_add(&line, ", ");
    line_add_rate(&line, sums.calls / (double)sums.n_ranks);
    line_add(&line, sums.n_ranks == 1 ? "calls/s, " : "calls/s each, ");
    line_add_rate(&line, sums.bytes);
    line_add(&line, "B/s");
    if (activities)
        line_add_awaited(&line, activities);
    else
        line_add_slow(&line, status, roster, &sums);
}
