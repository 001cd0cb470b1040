/* session/comm.h - a communicator: an engine context and what the session
 * adds */

#ifndef SESSION_COMM_H
#define SESSION_COMM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/comm.h"

#include "base/cleanup.h"
#include "base/config.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "select/shm_region_forming.h"
#include "select/tuning.h"
#include "session/group_client.h"
#include "transport/roster.h"

enum {
    COMM_NAME_BYTES_MAX = 63
};

TAILQ_HEAD(comm_list, hoop_comm);

/* What the communicators of one session share. Zeroed memory is an unopened
 * domain. */
struct comm_domain {
    const struct roster *roster; /* borrowed for life, as the four below */
    struct engine *engine;
    struct tuner *tuner;
    struct group_client *group_client;
    const struct config *config;
    /* The timeout for forming other communicators: the world communicator's. */
    _Atomic uint32_t forming_timeout_ms;
    pthread_mutex_t lock;
    struct comm_list comms;       /* all but the world; guarded by lock */
    struct hoop_session *session; /* borrowed; NULL in unit tests */
    /* Domains of the sessions that this one has grown into; guarded by lock. */
    LIST_HEAD(, comm_domain) grown;
    /* NULL: the user joined this session directly */
    struct comm_domain *grown_from;
    LIST_ENTRY(comm_domain) grown_link;
    /* The user has freed the world of this grown session. The session is left
     * when the last communicator made from it is freed. Guarded by lock. */
    bool is_grown_world_freed;
};

/* The last blocking collective, checked and converted for the engine. A
 * repetition of it needs neither step. Zeroed memory holds none. Only the
 * thread that runs a collective uses it, and there is one at a time
 * (api/collective.c). */
struct comm_cached_request {
    struct engine_collective request;
    size_t n_input; /* elements */
    size_t n_output;
};

/* What the survivors of a communicator have agreed on. Zeroed memory is the
 * state before the first agreement. Only the thread that runs a call on the
 * communicator uses it. */
struct comm_agreement_state {
    uint64_t turns[GROUP_GROW + 1]; /* by kind: agreements completed so far */
    uint32_t *failed;               /* ranks of the communicator; owned */
    uint32_t n_failed;
    /* of the communicator this one was shrunk from; 0: none */
    uint64_t unfinished;
    /* Of the running call: the fault rules that concern it, and its
     * attempts. */
    uint32_t faults;
    uint64_t n_shrink_tries;
};

/* State of the calls that api/retry.c repeats. Zeroed memory is the state
 * before the first call. Only the thread that runs a call on the communicator
 * uses it. */
struct comm_retry_state {
    uint64_t n_calls;         /* calls that have ended here */
    enum hoop_status outcome; /* of the last of them */
    /* Calls that have ended on other ranks, if that is more. */
    uint64_t n_ended_calls;
    /* the call after these has ended there, too: its root is lost */
    bool is_next_call_over;
    uint32_t *contributors; /* world ranks; owned */
    uint32_t n_contributors;
    void *kept; /* memory for copies of inputs; owned */
    size_t n_kept;
};

struct hoop_comm {
    TAILQ_ENTRY(hoop_comm) link;
    struct comm_domain *domain;   /* NULL in tests without a session */
    struct comm_context *context; /* NULL: this process is no member */
    /* chooses algorithms; NULL: the first of each collective */
    struct tuning *tuning;
    /* NULL: the world, or not a member */
    struct group_membership *group_membership;
    uint32_t session_timeout_ms; /* what 0 means in hoop_comm_set_timeout() */
    struct comm_cached_request cached_request;
    struct comm_agreement_state agreement;
    struct comm_retry_state retry;
    bool is_world; /* part of the session, freed with it */
};

/* Check that list names ranks of the world, each at most once.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
rank_list_check(const struct roster *roster, const struct rank_list *list);

/*
 * Form a communicator of the ranks in list. Every rank of list calls this, with
 * the same list; the caller has passed rank_list_check() and is in list. Blocks
 * until all have joined or deadline_ns.
 */
enum hoop_status
comm_form(struct comm_domain *domain,
          const struct rank_list *list,
          uint64_t deadline_ns,
          struct hoop_comm **out_comm);

/*
 * Open a communicator whose members, those of list, have all joined at the
 * coordinator. Call engine_expect_context() before the join. Takes ownership of
 * group_membership, also on failure. Always writes *out_comm: on failure it is
 * NULL or a communicator that the caller frees.
 */
enum hoop_status
comm_open_registered(struct comm_domain *domain,
                     const struct rank_list *list,
                     struct group_membership *group_membership,
                     uint64_t deadline_ns,
                     struct hoop_comm **out_comm);

/* Create a handle for a communicator that this process is not a member of. */
enum hoop_status
comm_create_without_context(struct comm_domain *domain,
                            struct hoop_comm **out_comm);

/* Leave a communicator that is not a world's, and free it. NULL is not
 * allowed. Blocks until its calls have ended. */
void
comm_leave_and_free(struct hoop_comm *comm);

/* Make comm the communicator that its survivors have formed: shrunk's parts
 * replace those of comm. Consumes shrunk and frees comm's former parts. The
 * caller is a member. */
void
comm_replace_with_shrunk(struct hoop_comm *comm, struct hoop_comm *shrunk);

/* Free all communicators that are left. Call after the engine has been left,
 * when no other thread uses them. */
void
comms_destroy(struct comm_domain *domain);

/* The host's name, for messages. Never empty. */
void
host_name(char out_name[LIMIT_NAME]);

/*
 * Write an id that is equal for two processes if they may share memory and
 * reach each other without a network. It consists of the kernel's boot id and
 * the network namespace: workers in separate containers count as being on
 * separate hosts, except for their processors (transport/roster.h). A node that
 * is not empty (HOOP_NODE) replaces the id.
 */
void
host_id(const char *node, char out_id[LIMIT_NAME]);

#endif
