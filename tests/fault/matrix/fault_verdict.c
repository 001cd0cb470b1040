/* tests/fault/matrix/fault_verdict.c - whether survivors agree in time */

#include "fault/matrix/fault_verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "fault/matrix/fault_table.h"

static const char *const marks[] = {" is lost: ", " has left the job"};

/* Returns the last "rank N (" before at. */
static uint32_t
rank_before(const char *text, const char *at)
{
    static const char word[] = "rank ";
    const size_t n_word = sizeof(word) - 1;

    for (const char *from = at; from > text; from--) {
        if (strncmp(from, word, n_word) == 0)
            return (uint32_t)strtoul(from + n_word, NULL, 10);
    }
    return strncmp(text, word, n_word) == 0
               ? (uint32_t)strtoul(text + n_word, NULL, 10)
               : FAULT_NOBODY;
}

/* Returns whether the text is that of an expelled rank. It names the rank that
 * declared it lost, and then the reason in brackets. */
static bool
is_expelled(const char *text, struct fault_why *out_why)
{
    const char *why = strstr(text, "this rank was declared lost by ");

    if (!why)
        return false;
    /* Skip the name of that rank, which may be "rank 2 (host:70)". */
    while ((why = strstr(why + 1, " (")) &&
           why[strcspn(why + 1, " )") + 1] == ')')
        continue;
    snprintf(out_why->text, sizeof(out_why->text), "%.*s",
             why ? (int)strcspn(why + 2, ";,(0123456789") : 0,
             why ? why + 2 : "");
    return true;
}

uint32_t
fault_blamed(uint32_t self, const char *text, struct fault_why *out_why)
{
    if (is_expelled(text, out_why))
        return self;
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        const char *at = strstr(text, marks[i]);

        if (!at)
            continue;
        const char *why = i == 0 ? at + strlen(marks[i]) : at + 1;
        snprintf(out_why->text, sizeof(out_why->text), "%.*s",
                 (int)strcspn(why, ";,(0123456789"), why);
        return rank_before(text, at);
    }
    out_why->text[0] = '\0';
    return FAULT_NOBODY;
}

/* Marks the cell as failed and adds to its text. */
static void
complain(struct fault_outcome *outcome, const char *format, ...)
{
    const size_t n_used = strlen(outcome->text);
    va_list arguments;

    outcome->grade = FAULT_FAILED;
    va_start(arguments, format);
    vsnprintf(outcome->text + n_used, sizeof(outcome->text) - n_used, format,
              arguments);
    va_end(arguments);
}

uint32_t
fault_to_be_blamed(const struct fault_cell *cell, uint32_t peer)
{
    const uint32_t culprit = fault_cell_culprit(cell);

    switch (cell->fault->blame) {
    case FAULT_BLAME_CULPRIT:
        return culprit;
    case FAULT_BLAME_HIGHER:
        return peer < cell->size && peer > culprit ? peer : culprit;
    case FAULT_BLAME_NOBODY:
        break;
    }
    return FAULT_NOBODY;
}

static uint64_t
limit_ns(const struct fault_evidence *evidence)
{
    const struct fault_lab *lab = evidence->lab;
    const enum fault_kind kind = evidence->cell->fault->kind;
    const bool is_silent = kind == FAULT_KIND_FREEZE || kind == FAULT_KIND_MUTE;
    /* No peer sees this end directly. The coordinator asks all ranks, or, if
     * the calls differ, a waiting rank asks after a while. */
    const bool is_asked =
        evidence->cell->fault->blame == FAULT_BLAME_HIGHER ||
        kind == FAULT_KIND_DIFFER ||
        (kind == FAULT_KIND_DEATH && lab->spaces.has_own_pids);

    /* A rank that lives but gets no processor is allowed another timeout. */
    const uint32_t n_timeouts = is_silent ? 1 + (kind == FAULT_KIND_MUTE) : 0;

    return (n_timeouts * lab->failure_timeout_ms +
            (is_silent || is_asked ? lab->slack_ms : lab->crash_ms)) *
           CLOCK_NS_PER_MS;
}

/* A surplus frame looks like another call. The error then names both ranks. */
static bool
is_taken_for_mismatch(const struct fault_cell *cell,
                      const struct fault_report *report)
{
    char name[24];

    snprintf(name, sizeof(name), "rank %u (", fault_cell_culprit(cell));
    return cell->fault->kind == FAULT_KIND_LINK &&
           report->status == HOOP_E_MISMATCH && strstr(report->text, name);
}

/* Judges the error of one rank. */
static void
judge_report(const struct fault_evidence *evidence,
             const struct fault_report *report,
             struct fault_outcome *outcome)
{
    const struct fault_cell *cell = evidence->cell;
    const bool differs = cell->fault->kind == FAULT_KIND_DIFFER ||
                         is_taken_for_mismatch(cell, report);
    const enum hoop_status wanted =
        differs ? HOOP_E_MISMATCH : HOOP_E_PEER_LOST;
    const uint32_t rank = (uint32_t)(report - evidence->room->ranks);
    const uint64_t took_ns = report->when_ns - evidence->struck_ns;
    struct fault_why why;
    const uint32_t blamed = fault_blamed(rank, report->text, &why);
    /* A truncated frame is followed by another one, which proves who sent
     * it. */
    const bool is_damaged = cell->fault->kind == FAULT_KIND_LINK &&
                            strstr(report->text, "the stream is damaged");
    const uint32_t wrongdoer = is_damaged
                                   ? fault_cell_culprit(cell)
                                   : fault_to_be_blamed(cell, evidence->peer);

    if (report->status != wanted)
        complain(outcome, "rank %u: status %d; ", rank, (int)report->status);
    if (!differs && blamed != wrongdoer)
        complain(outcome,
                 "rank %u blames rank %d and not %d (struck %d -> %d); ", rank,
                 (int)blamed, (int)wrongdoer, (int)fault_cell_culprit(cell),
                 (int)evidence->peer);
    if (took_ns > limit_ns(evidence))
        complain(outcome, "rank %u knew after %.0f ms; ", rank,
                 (double)took_ns / (double)CLOCK_NS_PER_MS);
    if (took_ns > outcome->took_ns)
        outcome->took_ns = took_ns;
}

/* Judges whether two ranks got the same error. */
static void
judge_pair(const struct fault_room *room,
           const struct fault_report *one,
           const struct fault_report *other,
           struct fault_outcome *outcome)
{
    struct fault_why whys[2];
    const uint32_t blamed =
        fault_blamed((uint32_t)(one - room->ranks), one->text, &whys[0]);

    if (blamed !=
        fault_blamed((uint32_t)(other - room->ranks), other->text, &whys[1]))
        complain(outcome, "they blame different ranks; ");
    else if (strcmp(whys[0].text, whys[1].text) != 0)
        complain(outcome, "they tell different things; ");
}

/* Checks that all ranks that were present got an error, and the same one. */
static void
judge_hurt(const struct fault_evidence *evidence, struct fault_outcome *outcome)
{
    const struct fault_report *first = NULL;

    for (uint32_t rank = 0; rank < evidence->cell->size; rank++) {
        const struct fault_report *report = &evidence->room->ranks[rank];

        if (!evidence->is_present[rank])
            continue;
        if (report->status == HOOP_OK) {
            complain(outcome, "rank %u noticed nothing; ", rank);
            continue;
        }
        judge_report(evidence, report, outcome);
        if (!first)
            first = report;
        else if (evidence->cell->fault->kind != FAULT_KIND_DIFFER)
            judge_pair(evidence->room, first, report, outcome);
    }
}

/* Returns whether the rank lives and is not the one that was given up. */
static bool
is_left(const struct fault_evidence *evidence, uint32_t rank)
{
    struct fault_why why;

    return evidence->is_present[rank] &&
           fault_blamed(rank, evidence->room->ranks[rank].text, &why) != rank;
}

/* Checks that the survivors went on together and without any other rank. */
static void
judge_rest(const struct fault_evidence *evidence, struct fault_outcome *outcome)
{
    uint32_t n_left = 0;

    for (uint32_t rank = 0; rank < evidence->cell->size; rank++)
        n_left += is_left(evidence, rank);
    for (uint32_t rank = 0; rank < evidence->cell->size; rank++) {
        const struct fault_rest *rest = &evidence->room->ranks[rank].rest;

        if (!is_left(evidence, rank))
            continue;
        if (rest->is_wrong) {
            outcome->is_wrong = true;
            complain(outcome, "rank %u has a WRONG SUM after it; ", rank);
        }
        if (rest->status != HOOP_OK || !rest->has_tried)
            complain(outcome, "rank %u cannot go on (%d, %s); ", rank,
                     (int)rest->status, rest->text);
        else if (rest->size != n_left)
            complain(outcome, "rank %u goes on with %u of %u; ", rank,
                     rest->size, n_left);
    }
}

static bool
is_anybody_hurt(const struct fault_evidence *evidence)
{
    for (uint32_t rank = 0; rank < evidence->cell->size; rank++) {
        if (evidence->room->ranks[rank].status != HOOP_OK)
            return true;
    }
    return false;
}

static bool
must_hurt(enum fault_kind kind)
{
    return kind == FAULT_KIND_DEATH || kind == FAULT_KIND_FREEZE ||
           kind == FAULT_KIND_LEAVE || kind == FAULT_KIND_DIFFER;
}

static void
judge(const struct fault_evidence *evidence, struct fault_outcome *outcome)
{
    const enum fault_kind kind = evidence->cell->fault->kind;
    const bool is_hurt = is_anybody_hurt(evidence);

    for (uint32_t rank = 0; rank < evidence->cell->size; rank++) {
        if (evidence->room->ranks[rank].is_wrong) {
            outcome->is_wrong = true;
            complain(outcome, "rank %u has a WRONG RESULT; ", rank);
        }
        if (evidence->is_present[rank] &&
            !atomic_load(&evidence->room->ranks[rank].is_done))
            complain(outcome, "rank %u hangs; ", rank);
    }
    if (evidence->struck_ns == 0 && fault_cell_needs_piece(evidence->cell)) {
        outcome->grade = outcome->text[0] ? FAULT_FAILED : FAULT_ABSENT;
        if (is_hurt)
            complain(outcome, "it failed without the fault; ");
        return;
    }
    if (evidence->struck_ns == 0)
        complain(outcome, "the fault did not strike; ");
    if (kind == FAULT_KIND_LATE && is_hurt)
        complain(outcome, "a late rank was no reason to fail; ");
    if (must_hurt(kind) || (is_hurt && kind != FAULT_KIND_LATE)) {
        judge_hurt(evidence, outcome);
        judge_rest(evidence, outcome);
    }
    if (evidence->is_over && !evidence->have_left)
        complain(outcome, "somebody hangs in leaving; ");
}

void
fault_judge(const struct fault_evidence *evidence,
            struct fault_outcome *out_outcome)
{
    struct fault_evidence seen = *evidence;

    *out_outcome = (struct fault_outcome){.grade = FAULT_PASSED};
    /* If the program causes the fault, no note tells the time. */
    if (!evidence->cell->fault->rule)
        seen.struck_ns = atomic_load(&evidence->room->began_ns);
    judge(&seen, out_outcome);
    if (out_outcome->grade != FAULT_FAILED)
        return;
    for (uint32_t rank = 0; rank < evidence->cell->size; rank++) {
        const struct fault_report *report = &evidence->room->ranks[rank];

        complain(out_outcome, "\n    rank %u: %s%s", rank,
                 evidence->is_present[rank]            ? ""
                 : evidence->room->ranks[rank].is_done ? "left "
                                                       : "dead or stopped ",
                 report->text);
    }
}
