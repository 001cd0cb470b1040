/* hoop/status.h - one status for everything, and the text behind a failure */

#ifndef HOOP_STATUS_H
#define HOOP_STATUS_H

#include <stdint.h>

#include "hoop/api.h"

HOOP_BEGIN

/*
 * 0 to 16 are gRPC's canonical codes with gRPC's numbers: they travel on the
 * control plane as they are. The others exist only inside a process.
 */
enum hoop_status {
    HOOP_OK = 0,
    HOOP_E_CANCELLED = 1,
    HOOP_E_UNKNOWN = 2,
    HOOP_E_INVALID = 3, /* a wrong argument, also without a peer */
    HOOP_E_TIMEOUT = 4, /* a deadline passed; the text says which */
    HOOP_E_NOT_FOUND = 5,
    HOOP_E_EXISTS = 6,       /* e.g. a rank that is taken */
    HOOP_E_DENIED = 7,       /* known, but not allowed */
    HOOP_E_EXHAUSTED = 8,    /* a limit or memory; the text says which */
    HOOP_E_PRECONDITION = 9, /* not in this state, e.g. the job is full */
    HOOP_E_ABORTED = 10,     /* lost a race, e.g. compare-and-set */
    HOOP_E_RANGE = 11,
    HOOP_E_UNIMPLEMENTED = 12,
    HOOP_E_INTERNAL = 13,        /* a bug in hoop: please report the text */
    HOOP_E_UNAVAILABLE = 14,     /* nobody answers; trying again may help */
    HOOP_E_DATA_LOSS = 15,       /* bytes arrived damaged */
    HOOP_E_UNAUTHENTICATED = 16, /* wrong or missing job token */

    HOOP_E_PENDING = 32,   /* hoop_wait's own timeout: the operation lives on */
    HOOP_E_PEER_LOST = 33, /* a rank died; the text names it */
    HOOP_E_MISMATCH = 34,  /* ranks called different things; both are named */
    HOOP_E_CLOSED = 35,    /* the session or communicator has been left */
    HOOP_E_RANK_FAILED = 36, /* one gave up, and the text says why */
};

/* gRPC's: "OK", "INVALID_ARGUMENT", ...; never NULL. Thread: any. */
HOOP_API const char *
hoop_status_name(enum hoop_status status);

/*
 * One sentence about the last failure of a hoop call on this thread: what,
 * where, who, what to do. Never NULL; empty when nothing has failed yet.
 * Valid until this thread's next hoop call. Thread: any, each has its own.
 */
HOOP_API const char *
hoop_error_text(void);

/*
 * The functions the last failure on this thread came through, innermost
 * first, as "function (file:line) < function (file:line)". For bug reports.
 * Never NULL; same life and thread rule as hoop_error_text().
 */
HOOP_API const char *
hoop_error_path(void);

/*
 * What the last failure on this thread's text says, for programs. What is not
 * known is 0, "" or NULL, or HOOP_NO_RANK (hoop/comm.h). Ranks are the world's.
 * Later versions may add members at the end.
 */
struct hoop_failure {
    enum hoop_status status; /* as the call returned it; HOOP_OK: none failed */
    uint32_t rank; /* at fault: that is lost, late, or did what no call may;
                            of a mismatch the one that called something else than
                            the rank that found it */
    uint32_t pid;  /* rank's, on its host */
    uint32_t waited_for;    /* the rank that this one waited for just then */
    char host[128];         /* rank's */
    char communicator[128]; /* its name, as "world": hoop_comm_set_name() */
    const char *operation;  /* "allreduce"; static */
    uint64_t sequence; /* which call of its communicator that was, from 1; or
                            which message to that rank */
    uint64_t n_bytes;  /* of the call's count of elements, or of the message */
    uint64_t elapsed_ms; /* since it was called */
    uint64_t allowed_ms; /* that its communicator allows */
};

/* Never NULL; same life and thread rule as hoop_error_text(). */
HOOP_API const struct hoop_failure *
hoop_error_failure(void);

HOOP_END

#endif
