/*
 * hooprun/status_text.h - one line that says how a job is doing
 *
 * Ranks tell their totals with the renewals of their leases, every few seconds.
 * The line has the rates between their last two renewals: on average how many
 * calls a rank makes, and how many bytes all send.
 */

#ifndef HOOPRUN_STATUS_TEXT_H
#define HOOPRUN_STATUS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/control.h"

enum {
    STATUS_TEXT_MAX = 512,
};

/* What one rank has done. */
struct status_rank {
    uint64_t incarnation; /* 0: not seen yet */
    int64_t told_ms;      /* when it last renewed its lease, from any origin */
    int64_t changed_ms;   /* when that was noticed */
    int64_t interval_ms;  /* between its last two renewals */
    struct hoop_control_rank_totals totals;
    bool has_rates; /* it has renewed twice, and the next is not late */
    double calls;   /* a second */
    double bytes;   /* sent, a second */
    double waits;   /* share of the time */
};

/* Zeroed, nothing is known. */
struct status_text {
    struct status_rank *ranks; /* [n_ranks] */
    size_t n_ranks;
};

void
status_text_deinit(struct status_text *status);

/* Take a new answer of hoop_control_totals(). Returns false if there is no
 * memory. */
bool
status_text_update(struct status_text *status,
                   const struct hoop_control_roster *roster,
                   int64_t now_ms);

/* Return whether ranks wait, and no call has ended between their last
 * renewals. */
bool
status_text_is_stuck(const struct status_text *status);

/* Write the line. activities is an answer of hoop_control_activities(), or
 * NULL. */
void
status_text_format(const struct status_text *status,
                   const struct hoop_control_roster *roster,
                   const struct hoop_control_roster *activities,
                   char out_text[static STATUS_TEXT_MAX]);

#endif
