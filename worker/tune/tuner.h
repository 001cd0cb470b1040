/*
 * tune/tuner.h - what a session knows for its tables of switch points
 *
 * One for each session, borrowed by the tunings of all its communicators.
 */

#ifndef TUNE_TUNER_H
#define TUNE_TUNER_H

#include "hoop/status.h"

#include "base/cleanup.h"
#include "transport/roster.h"

struct tuner;

struct tuner_options {
    const struct roster *roster; /* borrowed for life */
    const char *algorithms;      /* HOOP_ALGORITHM; "": none is forced */
    const char *link;            /* HOOP_LINK; "": to be measured */
};

/*
 * *out_tuner is the caller's.
 * Handle: HOOP_E_INVALID (one of the texts; error_text() says what there is).
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

#endif
