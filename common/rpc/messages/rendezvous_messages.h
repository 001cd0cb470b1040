/*
 * rpc/messages/rendezvous_messages.h - bodies of hoop.v1.Rendezvous
 *
 * The job is in the envelope's metadata. Members is answered with a job_reply,
 * and its request is a job_request (rpc/messages/status_messages.h).
 */

#ifndef RPC_MESSAGES_RENDEZVOUS_MESSAGES_H
#define RPC_MESSAGES_RENDEZVOUS_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "rpc/messages/message.h"
#include "rpc/messages/status_messages.h"

enum {
    RENDEZVOUS_PROTOCOL = 1, /* version that both sides must have */
};

/* A requested rank with this value lets the coordinator choose. */
static const uint32_t RENDEZVOUS_RANK_ANY = UINT32_MAX;

/* Join: answered when the world has formed, at deadline_ms at the latest. */
struct join_request {
    uint64_t incarnation; /* random, not 0; the same in a retry */
    uint32_t protocol;    /* RENDEZVOUS_PROTOCOL */
    uint32_t rank;        /* or RENDEZVOUS_RANK_ANY */
    uint32_t world_size;  /* the largest world; 0: use the coordinator's
                             value */
    uint32_t size_min;    /* form with this many after settle_ms; 0: not
                             requested */
    uint32_t settle_ms;   /* 0: use the coordinator's value */
    /* Counted from arrival, earlier than the call's deadline, so that the
     * answer can say what is missing. */
    uint32_t deadline_ms;
    uint32_t pid;
    char host[LIMIT_NAME];        /* a name for people */
    char host_id[LIMIT_NAME];     /* equal on one machine; "": use host */
    char address[LIMIT_ADDRESS];  /* numeric host:port where peers connect */
    uint32_t least_accepted_rank; /* if the world is too small for rank, a
                                    rank from here on is accepted; 0: none is */
    uint64_t pid_namespace_id;    /* identifies the PID namespace of pid; 0:
                                    not known */
    /* Processes of the previous world of this job that the worker has found to
     * be dead: */
    uint64_t ended_epoch;      /* epoch of that world; 0: the worker has not
                                  looked */
    struct message_span ended; /* [rank]: nonzero if that rank's process has
                                  ended; when decoded, points into the input */
    char root[LIMIT_NAME];     /* the job that grows by this world; "": none */
    uint64_t membership; /* the caller's incarnation in a world of root; 0:
                              none */
    uint32_t rank_use;   /* enum join_rank_use */
};
/* The fields that concern a job that has formed. */
MESSAGE_PART(join_request_formed,
             join_request,
             FIELD(ended_epoch),
             FIELD_BIN(ended, LIMIT_RANKS),
             OPTIONAL(3),
             FIELD(root),
             FIELD(membership),
             FIELD(rank_use))
MESSAGE(join_request,
        FIELD(incarnation),
        FIELD(protocol),
        FIELD(rank),
        FIELD(world_size),
        FIELD(size_min),
        FIELD(settle_ms),
        FIELD(deadline_ms),
        FIELD(pid),
        FIELD(host),
        FIELD(host_id),
        FIELD(address),
        OPTIONAL(1),
        FIELD(least_accepted_rank),
        OPTIONAL(1),
        FIELD(pid_namespace_id),
        OPTIONAL(1),
        FIELD_PART(join_request_formed))

/* How much a worker that joins a job that has formed insists on rank. */
enum join_rank_use {
    JOIN_RANK_DEMANDED, /* the join is refused if the rank is taken */
    JOIN_RANK_PREFERRED /* any other rank is accepted */
};

struct roster_member {
    uint32_t rank;
    uint32_t pid;
    uint64_t incarnation; /* an identity, see base/random.h */
    char host[LIMIT_NAME];
    char host_id[LIMIT_NAME];
    char address[LIMIT_ADDRESS];
    uint64_t pid_namespace_id; /* as in its join */
};
MESSAGE(roster_member,
        FIELD(rank),
        FIELD(pid),
        FIELD(incarnation),
        FIELD(host),
        FIELD(host_id),
        FIELD(address),
        OPTIONAL(1),
        FIELD(pid_namespace_id))

struct join_reply {
    uint64_t epoch;    /* of the world */
    uint64_t revision; /* of the membership; pass it as since to watch from
                          here */
    uint64_t world;    /* id of the world communicator */
    uint64_t seed;     /* random, the same on every rank */
    uint32_t rank;
    uint32_t size;
    uint32_t lease_ms;            /* a member renews about three times in
                                     this period */
    size_t n_members;             /* size */
    struct roster_member *roster; /* in the order of ranks */
    char job[LIMIT_NAME]; /* the job name that further requests must use; "":
                             as in the join */
    /* When encoding: the roster as encoded once for all members, by
     * message_encode_list(). When decoded: empty. */
    struct message_span packed_roster;
};
MESSAGE(join_reply,
        FIELD(epoch),
        FIELD(revision),
        FIELD(world),
        FIELD(seed),
        FIELD(rank),
        FIELD(size),
        FIELD(lease_ms),
        FIELD_STRUCTS_PACKED(roster,
                             n_members,
                             packed_roster,
                             roster_member,
                             LIMIT_RANKS),
        OPTIONAL(1),
        FIELD(job))

/* Which member makes a request. */
struct member_request {
    uint64_t epoch; /* epoch of the world, from the reply to the join */
    uint64_t incarnation;
};

/* Leave. The reply has no body. */
struct leave_request {
    struct member_request member;
    struct rank_totals totals; /* since the join; all 0: not told */
    /* If the member's last call has failed: an encoded activity_details, which
     * says so. */
    struct message_span failure;
};
MESSAGE(leave_request,
        FIELD(member.epoch),
        FIELD(member.incarnation),
        OPTIONAL(1),
        FIELD_STRUCT(totals, rank_totals),
        OPTIONAL(1),
        FIELD_BIN(failure, LIMIT_ACTIVITY_DETAILS))

/* Renew. It may carry answers: which ranks the member hears, and which call it
 * is in; and what the member has done so far. */
struct renew_request {
    struct member_request member;
    uint64_t question; /* from a watch_reply; 0: no question is
                                  answered */
    /* [rank]: enum evidence_view; empty: the answer will follow; when
     * decoded, points into the input. */
    struct message_span views;
    uint64_t activity_query; /* from a watch_reply; 0: no query is answered */
    struct rank_activity activity; /* the answer to the query */
    struct rank_totals totals;     /* since the join; all 0: not told */
};
MESSAGE(renew_request,
        FIELD(member.epoch),
        FIELD(member.incarnation),
        OPTIONAL(2),
        FIELD(question),
        FIELD_BIN(views, LIMIT_RANKS),
        OPTIONAL(2),
        FIELD(activity_query),
        FIELD_STRUCT(activity, rank_activity),
        OPTIONAL(1),
        FIELD_STRUCT(totals, rank_totals))

/* The reply to Renew and Report. */
struct lease_reply {
    uint64_t membership_epoch;
    uint64_t revision; /* if larger than the last one seen, a watch has news */
    uint32_t lease_ms;
    uint64_t clock_ns; /* the coordinator's, since 1970; 0: it does not say */
};
MESSAGE(lease_reply,
        FIELD(membership_epoch),
        FIELD(revision),
        FIELD(lease_ms),
        OPTIONAL(1),
        FIELD(clock_ns))

/* Report: a member reports that another one is lost, or that it does not hear
 * it. The first failure notice about a member is final. */
struct report_request {
    struct member_request reporter;
    uint32_t rank;        /* the accused rank */
    uint64_t incarnation; /* its identity, as in the roster */
    char reason
        [LIMIT_REPORT_REASON]; /* what was seen, such as "connection reset" */
    uint32_t evidence;         /* enum evidence */
    uint32_t slack_ms;         /* extra time for the others' answers that the
                                  reporter's network needs */
};
MESSAGE(report_request,
        FIELD(reporter.epoch),
        FIELD(reporter.incarnation),
        FIELD(rank),
        FIELD(incarnation),
        FIELD(reason),
        OPTIONAL(2),
        FIELD(evidence),
        FIELD(slack_ms))

/* Watch: a long poll, answered when there are changes after since. */
struct watch_request {
    uint64_t epoch;          /* epoch of the world; 0: whichever world exists */
    uint64_t since;          /* revision of the last change seen; 0: none */
    uint64_t question;       /* the last question seen; 0: none; or
                                WATCH_NO_QUESTION */
    uint64_t activity_query; /* the last query seen, in the same form */
    uint64_t recording_query; /* likewise */
};
/* What is missing is WATCH_NO_QUESTION. */
MESSAGE(watch_request,
        FIELD(epoch),
        FIELD(since),
        OPTIONAL(1),
        FIELD_OR(question, UINT64_MAX),
        OPTIONAL(1),
        FIELD_OR(activity_query, UINT64_MAX),
        OPTIONAL(1),
        FIELD_OR(recording_query, UINT64_MAX))

/* A question or query with this value: the watcher answers none. */
static const uint64_t WATCH_NO_QUESTION = UINT64_MAX;

enum watch_kind {
    WATCH_FORMED = 1, /* the world has formed; rank holds its size */
    WATCH_LEFT = 2,   /* the member called hoop_leave() */
    WATCH_LOST = 3,   /* a failure notice: which member is lost, and why; all
                         members get the same */
};

struct watch_event {
    uint32_t kind; /* enum watch_kind; a newer coordinator may send others */
    uint32_t rank;
    uint64_t revision;
    uint64_t membership_epoch; /* the epoch after the change */
    uint64_t incarnation;      /* an identity */
    uint64_t age_ms;           /* age of the change when the reply was made */
    uint32_t pid;
    char host[LIMIT_NAME];
    char reason[LIMIT_ERROR_TEXT];
    uint32_t evidence; /* EVIDENCE_GIVEN_UP if the member reported its own
                          failure */
};
MESSAGE(watch_event,
        FIELD(kind),
        FIELD(rank),
        FIELD(revision),
        FIELD(membership_epoch),
        FIELD(incarnation),
        FIELD(age_ms),
        FIELD(pid),
        FIELD(host),
        FIELD(reason),
        OPTIONAL(1),
        FIELD(evidence))

/* Has no events at the deadline of the call: ask again. */
struct watch_reply {
    uint64_t epoch;
    uint64_t revision; /* pass as since in the next call */
    size_t n_events;
    struct watch_event *events; /* oldest first */
    uint64_t question;        /* open question: which ranks does each rank hear?
                          Answered with Renew; 0: none */
    uint64_t activity_query;  /* open query: which call is each rank in?
                                Answered with Renew; 0: none */
    uint64_t recording_query; /* open query to this watcher alone: what has the
                                 next rank recorded? Answered with Recording;
                                 0: none */
    uint32_t recording_rank;
};
MESSAGE(watch_reply,
        FIELD(epoch),
        FIELD(revision),
        FIELD_STRUCTS(events, n_events, watch_event, LIMIT_LIST_PAGE_ENTRIES),
        OPTIONAL(1),
        FIELD(question),
        OPTIONAL(1),
        FIELD(activity_query),
        OPTIONAL(2),
        FIELD(recording_query),
        FIELD(recording_rank))

/* Recording: what a member passes on of a rank's flight recorder. The reply has
 * no body. */
struct recording_answer {
    struct member_request member;
    uint64_t query;             /* from a watch_reply */
    struct message_span memory; /* recorder/layout.h; empty: there is none */
    char why[LIMIT_ERROR_TEXT]; /* there is none */
};
MESSAGE(recording_answer,
        FIELD(member.epoch),
        FIELD(member.incarnation),
        FIELD(query),
        FIELD_BIN(memory, LIMIT_RECORDER_BYTES),
        FIELD(why))

#endif
