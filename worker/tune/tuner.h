/*
 * tune/tuner.h - what a session knows for its tables of switch points
 *
 * One for each session, borrowed by the tunings of all its communicators. It
 * begins with what was said here; once the world has agreed, with what its
 * rank 0 was told or measured. Tables that were built are kept, since groups of
 * one form have the same.
 */

#ifndef TUNE_TUNER_H
#define TUNE_TUNER_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "codec/loss.h"
#include "plan/nodes.h"
#include "transport/roster.h"
#include "tune/link_probe.h"
#include "tune/samples.h"
#include "tune/table.h"

struct tuner;

struct tuner_options {
    const struct roster *roster; /* borrowed for life */
    const char *algorithms;      /* HOOP_ALGORITHM; "": none is overridden */
    const char *link;            /* HOOP_DEBUG_LINK; "": to be measured */
    enum codec_loss loss;        /* HOOP_WIRE_DTYPE */
    bool is_coded;               /* whether HOOP_CODEC compresses */
    /* HOOP_TUNING, a file to read, "auto", or "model": not even the defaults
     * counts; NULL, "": none. Over what ranks of a host exchange messages, "tcp"
     * or "shm"; NULL: not said, and then no defaults counts. */
    const char *samples;
    const char *transport;
    bool requires_cma; /* each other's memory, where that can be: HOOP_CMA=on */
};

/* What is wrong with these, before anything is done with them; the roster plays
 * no part. Handle: HOOP_E_INVALID (error_text() says what there is),
 * HOOP_E_NOT_FOUND (the file). */
enum hoop_status
tuner_check(const struct tuner_options *options);

/*
 * *out_tuner is the caller's.
 * Handle: HOOP_E_INVALID (as tuner_check()).
 */
enum hoop_status
tuner_create(const struct tuner_options *options, struct tuner **out_tuner);

/* NULL is fine. */
void
tuner_destroy(struct tuner *tuner);
DEFINE_CLEANUP(struct tuner *, tuner_destroy)

/* The roster's. */
const struct roster *
tuner_roster(const struct tuner *tuner);

/* Thread: any, for all below. */

/* How rank 0 measures: HOOP_TRANSPORT lets ranks of a host share memory. */
enum link_probe_role
tuner_link_probe(const struct tuner *tuner);
/* Neither told nor measured nor agreed on. */
bool
tuner_needs_machine(struct tuner *tuner);
/* The world has agreed: known on all its ranks alike. */
bool
tuner_has_agreed(struct tuner *tuner);
/* Rank 0's: HOOP_CMA says that ranks that may read each other's memory should. */
bool
tuner_requires_cma(struct tuner *tuner);
/* Where they share a shared region, they do. */
void
tuner_prefer_cma(struct tuner *tuner);
void
tuner_set_machine(struct tuner *tuner,
                  const struct simulation_machine *machine);

/* What tables are made from; after the agreement, the same on all ranks. */
void
tuner_inputs(struct tuner *tuner,
             struct simulation_machine *out_machine,
             struct overrides *out_overrides);

/*
 * Build a table for ranks on these nodes, who share a shared region or none (NULL), or
 * find it. Takes up to tens of
 * milliseconds, tenths of a second for thousands of ranks. overrides: instead of
 * what is overridden for the job; NULL: that. What is overridden and needs a shared region is
 * left out where there is none.
 *
 * Handle: HOOP_E_PRECONDITION (a shared-memory algorithm is asked for by the caller, or for
 * a job that has not agreed yet, and there is no shared region; or a direct one, and they
 * must not read each other's memory).
 */
enum hoop_status
tuner_table(struct tuner *tuner,
            const struct plan_nodes *nodes,
            const struct plan_shm_region *shm_region,
            const struct overrides *overrides,
            struct table *out_table);

/* What was read from HOOP_TUNING, as text, to be given to the others; 0 bytes:
 * nothing was. Borrowed until somebody sets others. */
const char *
tuner_samples(struct tuner *tuner, size_t *out_n_bytes);
/* Takes samples. */
void
tuner_take_samples(struct tuner *tuner, struct samples *samples);

/* HOOP_TUNING=auto, and ranks on nodes like these have measured too seldom. */
bool
tuner_wants_samples(struct tuner *tuner, const struct plan_nodes *nodes);
/* What they have run is kept, here and for other jobs. */
void
tuner_add_samples(struct tuner *tuner, const char *text);

/* From now on, what was agreed on counts, not what was said here; only the
 * first agreement, the world's, says anything new. */
void
tuner_adopt(struct tuner *tuner, const struct table *agreed);

#endif
