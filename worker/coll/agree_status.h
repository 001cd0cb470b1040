/*
 * coll/agree_status.h - one outcome for all ranks
 *
 * Each rank says how its own work has ended and a few numbers; all learn all.
 * Where one failed, its status and text become everybody's, the first rank's if
 * there are several.
 */

#ifndef COLL_AGREE_STATUS_H
#define COLL_AGREE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/comm.h"
#include "hoop/status.h"

#include "base/cleanup.h"

enum {
    AGREE_STATUS_NUMBERS = 4
};

/* What a rank says. */
struct agree_status_report {
    uint64_t status;
    uint64_t numbers[AGREE_STATUS_NUMBERS];
};

struct agree_status {
    hoop_comm_t *comm;
    /* Whether a failure is one that every rank knows of: it was said, and
     * nobody was lost meanwhile. */
    bool is_agreed;
    struct agree_status_report
        words[]; /* by rank, after agree_status_exchange() */
};

/* comm is borrowed; the caller is a member, as are all who call it: where there
 * is no memory for one, agree_status_exchange() fails for the others. Handle:
 * HOOP_E_EXHAUSTED. */
enum hoop_status
agree_status_create(hoop_comm_t *comm, struct agree_status **out_agree_status);

/* NULL is fine. */
void
agree_status_destroy(struct agree_status *agree_status);

DEFINE_CLEANUP(struct agree_status *, agree_status_destroy)

/*
 * A collective. mine is this rank's outcome, whose text is the thread's last
 * error; numbers may be NULL. Handle: what any rank said, and as a collective.
 */
enum hoop_status
agree_status_exchange(struct agree_status *agree_status,
                      enum hoop_status mine,
                      const uint64_t numbers[AGREE_STATUS_NUMBERS]);

/* That all ranks said the same number at that place. doing names it in the
 * text. Handle: HOOP_E_MISMATCH, on all of them. */
enum hoop_status
agree_status_compare(const struct agree_status *agree_status,
                     unsigned at,
                     const char *doing);

#endif
