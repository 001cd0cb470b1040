/*
 * coll/accord.h - one outcome for all ranks
 *
 * Each rank says how its own work has ended and a few numbers; all learn all.
 * Where one failed, its status and text become everybody's, the first rank's if
 * there are several.
 */

#ifndef COLL_ACCORD_H
#define COLL_ACCORD_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/comm.h"
#include "hoop/status.h"

#include "base/cleanup.h"

enum {
    ACCORD_NUMBERS = 4
};

/* What a rank says. */
struct accord_word {
    uint64_t status;
    uint64_t numbers[ACCORD_NUMBERS];
};

struct accord {
    hoop_comm_t *comm;
    /* Whether a failure is one that every rank knows of: it was said, and
     * nobody was lost meanwhile. */
    bool is_agreed;
    struct accord_word words[]; /* by rank, after accord_reach() */
};

/* comm is borrowed; the caller is a member, as are all who call it: where there
 * is no memory for one, accord_reach() fails for the others. Handle:
 * HOOP_E_EXHAUSTED. */
enum hoop_status
accord_create(hoop_comm_t *comm, struct accord **out_accord);

/* NULL is fine. */
void
accord_destroy(struct accord *accord);

DEFINE_CLEANUP(struct accord *, accord_destroy)

/*
 * A collective. mine is this rank's outcome, whose text is the thread's last
 * error; numbers may be NULL. Handle: what any rank said, and as a collective.
 */
enum hoop_status
accord_reach(struct accord *accord,
             enum hoop_status mine,
             const uint64_t numbers[ACCORD_NUMBERS]);

/* That all ranks said the same number at that place. doing names it in the
 * text. Handle: HOOP_E_MISMATCH, on all of them. */
enum hoop_status
accord_compare(const struct accord *accord, unsigned at, const char *doing);

#endif
