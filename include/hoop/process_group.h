/* hoop/process_group.h - some ranks, as rows of tensor parallelism
 *
 * n ranks in ascending order are D rows of T: a row computes one copy of the
 * model (tensor parallel, neighbours), a column has the same part of all copies
 * (data parallel, T apart). Who is at index p of the list is at p % T of row
 * p / T. ColossalAI's ProcessGroup, whose local ranks are those of the world's
 * rank instead of p: the same for a list of 0, 1, ... only.
 *
 * Communicators are formed when they are asked for, by those who are in them,
 * and no two groups share one. Where one thread asks for several, of one group
 * or of many, all members ask in the same order. A process that is not in a
 * group may have it, too: it has no rows, and is no member of the
 * communicators.
 */

#ifndef HOOP_PROCESS_GROUP_H
#define HOOP_PROCESS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/status.h"

HOOP_BEGIN

typedef struct hoop_pg hoop_pg_t;

/* All zero: every rank, T = 1. */
struct hoop_pg_options {
    const uint32_t *ranks; /* of the world, in any order; NULL: all */
    uint32_t n_ranks;
    uint32_t tp_degree; /* T; 0: n / dp_degree, or 1 */
    uint32_t dp_degree; /* D; 0: n / T */
};

/*
 * A group of ranks of session's world. It communicates with nobody.
 *
 * options, and its list, which is not changed, are borrowed for the call; NULL:
 * all zero. *out_group is the caller's, who gives it to hoop_pg_free(), before
 * hoop_leave(). It borrows the session.
 *
 * Handle: HOOP_E_INVALID (no ranks, one out of range or twice; a degree that
 * does not divide n, or two whose product is not n), HOOP_E_EXHAUSTED.
 * Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pg_create(hoop_session_t *session,
               const struct hoop_pg_options *options,
               hoop_pg_t **out_group);

/* Frees its communicators, too, as hoop_comm_free() does. NULL is fine.
 * Thread: any, when no other uses the group. */
HOOP_API void
hoop_pg_free(hoop_pg_t *group);

/* The caller's rank in the world, in the group or not; HOOP_NO_RANK: NULL.
 * Thread (all up to hoop_pg_equal()): any. */
HOOP_API uint32_t
hoop_pg_rank(const hoop_pg_t *group);

/* How many ranks the group has, and which, in ascending order. Borrowed, as the
 * two lists below: they live as long as the group. 0 and NULL: NULL. */
HOOP_API uint32_t
hoop_pg_world_size(const hoop_pg_t *group);
HOOP_API const uint32_t *
hoop_pg_ranks(const hoop_pg_t *group);

/* The world ranks of the caller's row and column, in ascending order, and how
 * many: T and D. NULL and 0: the caller is not in the group, or group is NULL.
 */
HOOP_API const uint32_t *
hoop_pg_tp_ranks(const hoop_pg_t *group);
HOOP_API const uint32_t *
hoop_pg_dp_ranks(const hoop_pg_t *group);
HOOP_API uint32_t
hoop_pg_tp_size(const hoop_pg_t *group);
HOOP_API uint32_t
hoop_pg_dp_size(const hoop_pg_t *group);

/* Where the caller stands in its row and column, which is its rank in the
 * communicators below. HOOP_NO_RANK: as above. */
HOOP_API uint32_t
hoop_pg_tp_rank(const hoop_pg_t *group);
HOOP_API uint32_t
hoop_pg_dp_rank(const hoop_pg_t *group);

/* The same ranks with the same degrees, seen from the same rank. What was
 * formed does not count. NULL equals nothing. */
HOOP_API bool
hoop_pg_equal(const hoop_pg_t *a, const hoop_pg_t *b);

/*
 * The communicators of the caller's row and column. The first call of each
 * waits for the other members, as hoop_comm_create() does; later ones return
 * the same. Borrowed: *out_comm lives as long as the group, which frees it.
 *
 * Handle (these two and the next three): HOOP_E_INVALID (NULL), and as
 * hoop_comm_create(). Thread (these five): any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pg_tp_comm(hoop_pg_t *group, hoop_comm_t **out_comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pg_dp_comm(hoop_pg_t *group, hoop_comm_t **out_comm);

/*
 * Give the group a second pair of communicators, of the same ranks, with an
 * order of operations of their own. All ranks of the group call it: what is not
 * formed yet is formed, the first pair before the second, so that a rank that
 * has asked for the first already meets the right ones. Again is fine, also
 * after a failure. In ColossalAI the second pair is for tensors in a CPU's
 * memory; here both are.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pg_set_cpu_groups(hoop_pg_t *group);

/* Whether hoop_pg_set_cpu_groups() has succeeded. Thread: any. */
HOOP_API bool
hoop_pg_has_cpu_groups(const hoop_pg_t *group);

/* The second pair. Handle: also HOOP_E_PRECONDITION (hoop_pg_set_cpu_groups()
 * has not succeeded). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pg_cpu_tp_comm(hoop_pg_t *group, hoop_comm_t **out_comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pg_cpu_dp_comm(hoop_pg_t *group, hoop_comm_t **out_comm);

HOOP_END

#endif
