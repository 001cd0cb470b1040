/* hoop/session.h - join a job by address, leave it */

#ifndef HOOP_SESSION_H
#define HOOP_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/status.h"

HOOP_BEGIN

/*
 * What a program says of its settings; the strings and arrays are borrowed for
 * the call, which copies what it keeps. A setting has, in falling order, the
 * value of
 *
 *   1. an item of settings, "name=value",
 *   2. its member, unless that is zero or NULL,
 *   3. the environment, the variable beside the member,
 *   4. for rank and world size a launcher's variables (Slurm, Open MPI, PMI,
 *      torchrun),
 *   5. the default.
 *
 * A token, wherever it is given, wins over a file with one.
 *
 * Whatever hoop(7) lists for the environment may be an item: HOOP_STREAMS=4 is
 * "streams=4". Values are written as there, times in seconds or with a unit
 * ("2.5", "500ms"). An unknown name, a wrong value, and a name that is given
 * twice in the list are HOOP_E_INVALID before anything is sent; the error names
 * the item, the value and what is allowed, or the name that is like it. A
 * variable or value that has another name now is refused with the new one.
 *
 * What has no member: "on_failure" ("error", or "retry": collectives go on with
 * those that are left, see hoop_comm_contributors()), "checksum" ("on": frames
 * are summed and those that were damaged on their way end the connection, whose
 * ends the error names; the same on all ranks, which then share no memory
 * region), "transport" (between ranks of one node: "auto" shares memory where that can
 * be, between two and among all of a communicator, "shm" fails where two cannot;
 * "tcp" never does), "cma" (ranks of a node that share memory read large buffers
 * out of each other's, where the system lets them: "on", "off", or "auto", where
 * that is faster), "tls" ("on": what ranks send each other and the coordinator
 * is encrypted, alike for all of them, by "tls_cert", "tls_key" and "tls_ca", or,
 * without the first two, by a key made of the token; what they share is not),
 * "streams" (connections that share what is large between two ranks: "1" to "8",
 * or "auto", one, and more where they bring more; the lower rank's counts),
 * "node" (hoop/group.h), "algorithm" and "tuning" (hoop/tuning.h),
 * "failure_timeout" (a rank that others wait for and nothing comes from is lost
 * then, 2 s), "late_warning" (who is waited for so long is named on standard
 * error, 10 s; 0: nobody is, nor where "log" is "off" or "error"), "wait_notice"
 * (likewise, a join, or a call that creates, agrees, shrinks or grows, that has
 * waited so long says for whom, and how long it may, then ever more rarely, 1 s;
 * so does a member of its coordinator, and says when it is back),
 * "log" and "log_format" (of the process: the first session's count),
 * "recorder_dir" (a folder where the process records its last calls:
 * hoop/recorder.h), "recorder_signal" (a signal that makes a copy there).
 *
 * Thread: while nobody calls setenv(), nor changes what is borrowed.
 */
struct hoop_join_options {
    const char *coordinator;  /* HOOP_COORDINATOR, host:port */
    const char *job;          /* HOOP_JOB, "default" */
    const char *token;        /* HOOP_TOKEN; proves membership of the job */
    const char *token_file;   /* HOOP_TOKEN_FILE, if there is no token */
    const uint32_t *rank;     /* HOOP_RANK; NULL: the coordinator chooses */
    uint32_t world_size;      /* HOOP_WORLD_SIZE; 0: the coordinator's */
    uint32_t join_timeout_ms; /* HOOP_JOIN_TIMEOUT (seconds), 60 s */
    uint32_t op_timeout_ms;   /* HOOP_TIMEOUT (seconds), 10 min; 60 s in CI */
    const char *advertise;    /* HOOP_ADVERTISE, address told to the peers */
    const char *interface;    /* HOOP_INTERFACE, its address is advertised */
    uint16_t port;            /* HOOP_PORT, where peers connect; 0: any;
                                 a range is said by "port=5000-5063" */
    const char *codec;        /* HOOP_CODEC, lossless compression: "none",
                                 "zstd", "planes" or "auto" */
    const char *check;        /* HOOP_CHECK, "frames" or "full" */
    const char *wire_dtype;   /* HOOP_WIRE_DTYPE, lossy conversion of float32:
                                 "none", "bf16", "fp16" or "int8"; rank 0's */
    const char *const *settings; /* "name=value" each, ended by NULL; NULL:
                                    none */
};

/*
 * Join a job and wait until its world has formed and the ring neighbours are
 * connected. options may be NULL: everything from the environment.
 *
 * Starts the session's one background thread, with all signals blocked.
 * *out_session is the caller's, who gives it to hoop_leave().
 *
 * check "full": before each collective the ranks agree that they call the same
 * (hoop/coll.h); all must say so, or the first to find out fails to join with
 * HOOP_E_MISMATCH, and the others are told by their first call. It costs the
 * latency of a barrier each: ceil(log2 n) messages of one byte.
 *
 * Handle: HOOP_E_TIMEOUT (the text names the ranks that are missing),
 * HOOP_E_UNAUTHENTICATED, HOOP_E_PRECONDITION and HOOP_E_EXISTS (refused by
 * the coordinator: job full, rank taken), HOOP_E_INVALID (a setting is wrong),
 * HOOP_E_UNAVAILABLE (no coordinator, or until the deadline members were
 * leaving, or perhaps dead, that have the places),
 * HOOP_E_MISMATCH (ranks differ in check), HOOP_E_PEER_LOST (a rank that the
 * world needs ended before it joined, as its launcher says).
 * Thread: any; several sessions may live in one process.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_join(const struct hoop_join_options *options,
          hoop_session_t **out_session);

/*
 * Take leave: tells the peers and the coordinator, closes every connection,
 * stops the thread and frees the session with its communicators. Wait for
 * every operation before: what still runs is dropped, and its handle leaks and
 * must not be used any more. NULL is fine.
 * Thread: one, when no other uses the session.
 */
HOOP_API void
hoop_leave(hoop_session_t *session);

/*
 * Give up, and say why: this rank takes no part in the job any more, and whatever
 * other ranks wait for, or call later, that needs it ends with HOOP_E_RANK_FAILED
 * and "rank 1 (host:pid) <reason>". Ranks that are connected to this one, and those
 * that share memory with it, know in milliseconds, all others as soon as the coordinator has told
 * them. They live, and may shrink and go on. What other threads of this rank wait
 * for ends so, too; what they call on the session later fails at once. Only hoop_leave() is
 * of use for it then.
 *
 * reason: what this rank did or met, as a predicate, e.g. "raised ValueError: no
 * such file"; NULL or "": "has given up". Cut at 255 bytes. Returns when the coordinator
 * knows, or after a second without an answer, however many worlds the session has grown to, which it
 * gives up, too. A second time it tells the coordinator what that has not heard; hoop_leave() does so
 * at last. In a forked child, or after this rank was declared lost it does nothing. session may be NULL.
 *
 * MPI: MPI_Abort(), which ends the other processes, too. NCCL: ncclCommAbort(),
 * which tells nobody. For a communicator whose ranks all stay, hoop_comm_revoke().
 * Thread: any, until hoop_leave().
 */
HOOP_API void
hoop_abort(hoop_session_t *session, const char *reason);

/* All members of the job. Borrowed: lives as long as the session, of which NULL
 * has none. */
HOOP_API hoop_comm_t *
hoop_world(hoop_session_t *session);

/* What this rank has moved so far. Payload bytes, without headers. */
struct hoop_stats {
    uint64_t operations; /* completed, of all kinds that a program calls */
    uint64_t bytes_sent; /* payload as the user sees it */
    uint64_t bytes_received;
    uint64_t wire_sent;   /* payload as stored on the wire (codec) */
    uint64_t connections; /* peers connected now */
};

/* Of no session: zeros. Thread: any. */
HOOP_API void
hoop_session_stats(hoop_session_t *session, struct hoop_stats *out_stats);

/* Write into text, which has room for n_bytes, what the calling program is at, and a
 * final 0. It may wait for locks of the program's, but not call hoop. */
typedef void
hoop_stack_reader_t(char *text, size_t n_bytes);

/*
 * From now on read tells where this process is whenever somebody asks what holds its
 * job up (hoop/control.h). For languages whose own stack says more than C's, as
 * Python's does. The first line of the text goes into the sentence that names this
 * rank: "train.py:41 in load_batch, called from train.py:88 in main". The others are
 * the stack, a line for each frame, the innermost first.
 *
 * read is called by a thread of hoop's that lives for that call only and blocks all
 * signals. After 0.3 s the rank answers without it. NULL: nobody is asked, as at
 * first, nor runs read any more when this has returned: it waits for that.
 * Thread: any, but not read's.
 */
HOOP_API void
hoop_set_stack_reader(hoop_stack_reader_t *read);

HOOP_END

#endif
