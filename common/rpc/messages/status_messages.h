/*
 * rpc/messages/status_messages.h - bodies of operators' requests
 *
 * Those of hoop.v1.Health/Check, Status/Jobs, Status/Job, Status/Why,
 * Status/Recording and Rendezvous/Members.
 */

#ifndef RPC_MESSAGES_STATUS_MESSAGES_H
#define RPC_MESSAGES_STATUS_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "base/rank_totals.h"
#include "rpc/messages/message.h"

/* The numbers are those of gRPC. */
enum health_serving {
    HEALTH_UNKNOWN = 0,
    HEALTH_SERVING = 1,
    HEALTH_NOT_SERVING = 2,     /* draining, or it cannot write its data */
    HEALTH_SERVICE_UNKNOWN = 3, /* no such service */
};

/* Check: "" asks for the whole coordinator. Needs neither job nor token. */
struct health_request {
    char service[LIMIT_NAME];
};
MESSAGE(health_request, FIELD(service))

struct health_reply {
    uint32_t serving; /* enum health_serving */
};
MESSAGE(health_reply, FIELD(serving))

struct job_summary {
    char name[LIMIT_NAME];
    char state[LIMIT_NAME]; /* "forming", "running", "ended" */
    uint64_t epoch;         /* epoch of the world; 0: none has formed */
    uint32_t size;          /* size of the world; while forming, the requested
                           size or 0 */
    uint32_t n_members;     /* joining or active */
    uint32_t n_lost;
    uint32_t n_left;
    uint64_t age_ms; /* time since the job's first join; ended: time since
                        its end */
};
MESSAGE(job_summary,
        FIELD(name),
        FIELD(state),
        FIELD(epoch),
        FIELD(size),
        FIELD(n_members),
        FIELD(n_lost),
        FIELD(n_left),
        FIELD(age_ms))

/* Jobs: the request has no body. */
struct jobs_reply {
    char version[LIMIT_NAME]; /* version of the coordinator */
    uint64_t uptime_ms;
    uint32_t serving; /* enum health_serving */
    size_t n_jobs;
    struct job_summary *jobs; /* living jobs, oldest first, then ended jobs */
    uint64_t clock_ms;        /* the coordinator's clock, since 1970; 0: not
                              sent */
};
MESSAGE(jobs_reply,
        FIELD(version),
        FIELD(uptime_ms),
        FIELD(serving),
        FIELD_STRUCTS(jobs, n_jobs, job_summary, LIMIT_JOBS + LIMIT_ENDED_JOBS),
        OPTIONAL(1),
        FIELD(clock_ms))

struct job_member {
    uint32_t rank; /* RENDEZVOUS_RANK_ANY: not assigned yet */
    uint32_t pid;
    uint64_t incarnation;
    char host[LIMIT_NAME];
    char address[LIMIT_ADDRESS];
    char state[LIMIT_NAME];    /* "joining", "active", "left", "lost" */
    uint64_t lease_left_ms;    /* joining: time until the join deadline */
    uint64_t pid_namespace_id; /* as in the join; 0 from an older coordinator */
    char reason[LIMIT_ERROR_TEXT]; /* why the member is lost; "" from an
                                      older coordinator */
    /* Revision of the change in which the member reported its own failure; 0:
     * none, or an older coordinator. */
    uint64_t given_up_revision;
};
MESSAGE(job_member,
        FIELD(rank),
        FIELD(pid),
        FIELD(incarnation),
        FIELD(host),
        FIELD(address),
        FIELD(state),
        FIELD(lease_left_ms),
        OPTIONAL(1),
        FIELD(pid_namespace_id),
        OPTIONAL(1),
        FIELD(reason),
        OPTIONAL(1),
        FIELD(given_up_revision))

/* Return the text in a span that holds one with its final 0, or "". */
static inline const char *
status_span_text(struct message_span span)
{
    return span.n_bytes > 0 && span.bytes[span.n_bytes - 1] == 0
               ? (const char *)span.bytes
               : "";
}

/* In place of a rank: there is none. */
#define STATUS_RANK_NONE UINT32_MAX
/* In place of a time. */
#define STATUS_TIME_UNKNOWN UINT64_MAX

/* For how long a rank remembers its waits. */
#define STATUS_MINUTE_MS UINT64_C(60000)

/* What a rank that another one waits for has said of its own calls. */
enum awaited_doing {
    AWAITED_UNKNOWN = 0,
    AWAITED_HAS_CALLED = 1,
    AWAITED_IN_OTHER_CALL = 2,
    AWAITED_IN_NO_CALL = 3,
};

/* Whether a rank hears another one that it waits for. */
enum awaited_sign {
    AWAITED_SIGN_UNKNOWN = 0,
    AWAITED_LIVES = 1,
    AWAITED_IS_SILENT = 2, /* it answers no question whether it lives */
};

/* A process, as it or another one on its host sees it. */
struct rank_process {
    uint32_t rank;
    uint32_t state; /* the letter of /proc: R S D T Z, X: it has ended, or 0:
                       not known */
    char where[LIMIT_NAME]; /* S or D: the system call in which it sleeps, or
                               "" */
    uint64_t swapped_kib;
};
MESSAGE(rank_process,
        FIELD(rank),
        FIELD(state),
        FIELD(where),
        FIELD(swapped_kib))

/* For how long a rank waited for another one in the last minute. */
struct rank_wait {
    uint32_t rank;
    uint64_t wait_ms;
};
MESSAGE(rank_wait, FIELD(rank), FIELD(wait_ms))

/* A rank that is heard, for it has asked. */
struct rank_asker {
    uint32_t rank;
    uint64_t age_ms; /* since its last question */
};
MESSAGE(rank_asker, FIELD(rank), FIELD(age_ms))

/* What programs that explain a job know of a rank beyond the texts of
 * rank_activity, as the rank reports it. */
struct activity_details {
    /* Of the call, as on wires between peers: one more than the coordinator's
     * number; 0: none. */
    uint64_t communicator_id;
    uint32_t awaited_rank;  /* in the world; STATUS_RANK_NONE: none */
    uint32_t awaited_doing; /* enum awaited_doing */
    uint32_t awaited_sign;  /* enum awaited_sign */
    char awaited_call[LIMIT_REPORT_REASON]; /* the other call, or "" */
    uint64_t
        awaited_silence_ms; /* since its last byte, or if it is silent, since
                                    it was asked; STATUS_TIME_UNKNOWN */
    uint64_t n_done_bytes;  /* moved between the two ranks */
    uint64_t n_bytes;       /* to move between them */
    char finished[LIMIT_REPORT_REASON]; /* the last finished collectives of
                                           some communicators */
    char failure[LIMIT_ERROR_TEXT]; /* text of the last failed call, or "" */
    uint32_t failure_status;        /* enum hoop_status */
    size_t n_processes;
    struct rank_process *processes; /* the rank's own first */
    size_t n_waits;
    struct rank_wait *waits; /* those waited for longest */
    size_t n_askers;
    struct rank_asker *askers; /* who asked it for a sign of life lately */
    /* Where its program is, a text with its final 0: the first line says it in
     * short, the others are the stack. Empty: not told, as by older ranks. */
    struct message_span stack;
    /* The last seconds: how long they are, for whom this rank waited in them,
     * and for how long it waited for bytes of ranks that had called. */
    uint64_t recent_ms;
    size_t n_recent_waits;
    struct rank_wait *recent_waits;
    uint64_t moving_ms;
    /* To which rank the bytes that this one has sent are under way longest, and
     * how long they take; 0: none are. */
    uint32_t backlog_rank;
    uint64_t backlog_ms;
    /* The call is a receive; the awaited rank has sent only a message with
     * another tag, which is not received. Each is one more than the tag; 0:
     * nothing is known. */
    uint64_t receive_tag;
    uint64_t sent_tag;
};
MESSAGE(activity_details,
        FIELD(communicator_id),
        FIELD(awaited_rank),
        FIELD(awaited_doing),
        FIELD(awaited_sign),
        FIELD(awaited_call),
        FIELD(awaited_silence_ms),
        FIELD(n_done_bytes),
        FIELD(n_bytes),
        FIELD(finished),
        FIELD(failure),
        FIELD(failure_status),
        FIELD_STRUCTS(processes,
                      n_processes,
                      rank_process,
                      LIMIT_ACTIVITY_PROCESSES),
        FIELD_STRUCTS(waits, n_waits, rank_wait, LIMIT_ACTIVITY_WAITS),
        FIELD_STRUCTS(askers, n_askers, rank_asker, LIMIT_ACTIVITY_ASKERS),
        OPTIONAL(1),
        FIELD_BIN(stack, LIMIT_PROGRAM_STACK),
        OPTIONAL(5),
        FIELD(recent_ms),
        FIELD_STRUCTS(recent_waits,
                      n_recent_waits,
                      rank_wait,
                      LIMIT_ACTIVITY_WAITS),
        FIELD(moving_ms),
        FIELD(backlog_rank),
        FIELD(backlog_ms),
        OPTIONAL(2),
        FIELD(receive_tag),
        FIELD(sent_tag))

/* Which call a rank is in, as the rank reports it. */
struct rank_activity {
    char silence
        [LIMIT_REPORT_REASON]; /* why the rank has not answered; "": it has */
    char call
        [LIMIT_REPORT_REASON]; /* the call that has waited longest, as "allreduce #7
                           (float32, 4 elements, sum)"; "": the rank is in no
                           call */
    char communicator
        [LIMIT_NAME]; /* communicator of the call, as the program names it,
                         or "" */
    char waits_for[LIMIT_REPORT_REASON]; /* "rank 2 (host:pid) to send (...)" */
    uint64_t number;  /* number of the call, as in its text; 0: none */
    uint64_t age_ms;  /* time since the call began */
    uint32_t n_calls; /* calls that wait, including this one */
    /* The rest is not sent by older ranks and coordinators. The coordinator
     * fills in the first two. */
    uint64_t last_sign_ms;       /* since the rank's last renewal */
    uint64_t missing_rank;       /* the call is the coordinator's, which waits
                                    for this rank; STATUS_RANK_NONE: none */
    struct message_span details; /* an encoded activity_details, or empty */
};
MESSAGE(rank_activity,
        FIELD(silence),
        FIELD(call),
        FIELD(communicator),
        FIELD(waits_for),
        FIELD(number),
        FIELD(age_ms),
        FIELD(n_calls),
        OPTIONAL(3),
        FIELD_OR(last_sign_ms, STATUS_TIME_UNKNOWN),
        FIELD_OR(missing_rank, STATUS_RANK_NONE),
        FIELD_BIN(details, LIMIT_ACTIVITY_DETAILS))

/* What a rank has done since it joined, see base/rank_totals.h. */
MESSAGE(rank_totals,
        FIELD(calls),
        FIELD(bytes_sent),
        FIELD(bytes_received),
        FIELD(wait_collective_us),
        FIELD(wait_message_us),
        FIELD(wait_forming_us),
        FIELD(join_us),
        FIELD(failures_timeout),
        FIELD(failures_lost),
        FIELD(failures_mismatch),
        FIELD(failures_cancelled),
        FIELD(failures_other))

/* Job and Members: the job is in the metadata. The body may be missing. */
struct job_request {
    uint32_t is_brief; /* nonzero: the reply has no members */
    uint32_t asks;     /* nonzero: ask all ranks which call they are in */
    uint32_t totals;   /* nonzero: the reply has what each rank has done */
};
MESSAGE(job_request,
        OPTIONAL(1),
        FIELD(is_brief),
        OPTIONAL(1),
        FIELD(asks),
        OPTIONAL(1),
        FIELD(totals))

struct job_reply {
    struct job_summary line;
    uint64_t membership_epoch;
    uint64_t revision;
    uint64_t n_groups;
    uint64_t n_keys;
    uint64_t n_store_bytes;
    uint64_t n_waiters; /* parked requests */
    size_t n_members;
    struct job_member *members; /* in the order of ranks; while forming, in
                                   the order of arrival */
    /* Set while the job forms; an older coordinator does not send them. */
    uint32_t size_min; /* smallest size to form with; 0: not known */
    char missing[LIMIT_REPORT_REASON]; /* "ranks 0, 3", "2 more workers" */
    char hosts[LIMIT_REPORT_REASON];   /* hosts of its members, as "a, b" */
    /* [n_members]; NULL: the ranks were not asked. */
    struct rank_activity *activities;
    /* [n_members]; NULL: not requested. */
    struct rank_totals *totals;
};
MESSAGE(
    job_reply,
    FIELD_STRUCT(line, job_summary),
    FIELD(membership_epoch),
    FIELD(revision),
    FIELD(n_groups),
    FIELD(n_keys),
    FIELD(n_store_bytes),
    FIELD(n_waiters),
    FIELD_STRUCTS(members, n_members, job_member, LIMIT_RANKS),
    OPTIONAL(3),
    FIELD(size_min),
    FIELD(missing),
    FIELD(hosts),
    OPTIONAL(1),
    FIELD_STRUCTS_PARALLEL(activities, n_members, rank_activity, LIMIT_RANKS),
    OPTIONAL(1),
    FIELD_STRUCTS_PARALLEL(totals, n_members, rank_totals, LIMIT_RANKS))

/* What is known of a member beyond its call, put together from what all ranks
 * have told. */
struct why_rank {
    uint64_t last_sign_ms;    /* since its last renewal; STATUS_TIME_UNKNOWN */
    uint32_t is_setup;        /* nonzero: its call waits in the coordinator */
    uint64_t communicator_id; /* the coordinator's number; 0: the world or none
                               */
    uint32_t awaited_rank;    /* as in activity_details, with the next six */
    uint32_t awaited_doing;
    uint32_t awaited_sign;
    char awaited_call[LIMIT_REPORT_REASON];
    uint64_t awaited_silence_ms;
    uint32_t awaited_hears; /* enum awaited_sign: whether that rank hears this
                               one */
    uint64_t n_done_bytes;
    uint64_t n_bytes;
    char finished[LIMIT_REPORT_REASON];
    char failure[LIMIT_ERROR_TEXT];
    uint32_t failure_status;
    uint32_t process_state; /* as in rank_process, with the next two */
    char where[LIMIT_NAME];
    uint64_t swapped_kib;
    uint64_t held_up_ms;    /* for how long the next rank waited for it in the
                               last minute, or the last seconds */
    uint32_t held_up_rank;  /* STATUS_RANK_NONE: none */
    uint64_t lost_revision; /* of the change in which it was lost; 0: it is
                               not */
    struct message_span stack; /* as in activity_details */
    uint64_t held_up_span_ms;  /* the time of which held_up_ms is a part */
};
MESSAGE(why_rank,
        FIELD(last_sign_ms),
        FIELD(is_setup),
        FIELD(communicator_id),
        FIELD(awaited_rank),
        FIELD(awaited_doing),
        FIELD(awaited_sign),
        FIELD(awaited_call),
        FIELD(awaited_silence_ms),
        FIELD(awaited_hears),
        FIELD(n_done_bytes),
        FIELD(n_bytes),
        FIELD(finished),
        FIELD(failure),
        FIELD(failure_status),
        FIELD(process_state),
        FIELD(where),
        FIELD(swapped_kib),
        FIELD(held_up_ms),
        FIELD(held_up_rank),
        FIELD(lost_revision),
        OPTIONAL(1),
        FIELD_BIN(stack, LIMIT_PROGRAM_STACK),
        OPTIONAL(1),
        FIELD_OR(held_up_span_ms, STATUS_MINUTE_MS))

/* Why: the job is in the metadata, and the request has no body. */
struct why_reply {
    char kind[LIMIT_NAME];           /* "stopped", "moving", ... */
    char sentence[LIMIT_ERROR_TEXT]; /* what holds the job up */
    char advice[LIMIT_ERROR_TEXT];   /* what to look at next, or "" */
    uint32_t is_held_up;             /* nonzero: something holds the job up */
    size_t n_culprits;
    uint32_t *culprits; /* ranks */
    /* With activities, but without their details, if the ranks could be
     * asked. */
    struct job_reply job;
    size_t n_ranks;
    struct why_rank *ranks; /* [n_ranks], of the members of job */
    size_t n_order;
    uint32_t *order; /* places in job.members, the furthest behind first */
};
MESSAGE(why_reply,
        FIELD(kind),
        FIELD(sentence),
        FIELD(advice),
        FIELD(is_held_up),
        FIELD_VALUES(culprits, n_culprits, LIMIT_WHY_CULPRITS),
        FIELD_STRUCT(job, job_reply),
        FIELD_STRUCTS(ranks, n_ranks, why_rank, LIMIT_RANKS),
        FIELD_VALUES(order, n_order, LIMIT_RANKS))

/* Recording: the job is in the metadata. */
struct recording_request {
    uint32_t rank; /* whose recording is wanted */
    uint32_t via;  /* the member that is asked for it */
};
MESSAGE(recording_request, FIELD(rank), FIELD(via))

struct recording_reply {
    struct message_span memory; /* recorder/layout.h, as the member copied it */
};
MESSAGE(recording_reply, FIELD_BIN(memory, LIMIT_RECORDER_BYTES))

#endif
