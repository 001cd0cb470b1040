/* base/limits.h - every upper bound of the code, with its reason */

#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <stdint.h>

enum {
    /* Error texts: one record per thread, never allocated. */
    LIMIT_ERROR_TEXT = 1024,
    LIMIT_ERROR_PATH = 1024,

    /* Names of jobs, hosts, methods and the like, with the final 0. */
    LIMIT_NAME = 128,
    LIMIT_ADDRESS = 288, /* a DNS name is at most 253 characters, plus port */
    LIMIT_TOKEN = 256,

    /* Settings: paths are the longest; a file has some forty lines. */
    LIMIT_SETTING = 1024,
    /* Stack that a calling thread must have left: most is for planning a
     * redistribution, and for looking up names while joining. */
    LIMIT_STACK = 192 * 1024,
    LIMIT_SETTINGS_FILE = 64 * 1024,
    LIMIT_SETTING_CHOICES_TEXT = 256, /* the choices of a setting, as a text */

    /* The wire: see docs/wire-format.md. */
    LIMIT_FRAME_HEADER = 128,
    LIMIT_FRAME_PAYLOAD = 512 * 1024, /* half an L2 cache */
    LIMIT_FRAME_PAD = 64,
    /* How much of a connection is read before the next frame is known: one call
     * reads a payload of 16 KiB with its header; of a larger one, this much is
     * copied. */
    LIMIT_READ_AHEAD = 16 * 1024 + 2 * LIMIT_FRAME_HEADER,

    /* Rules of HOOP_DEBUG_FAULT for one rank: bits of a word. */
    LIMIT_FAULTS = 32,

    /* Ranks of a job: limits what a roster can make a process allocate. */
    LIMIT_RANKS = 65536,

    /* Rounds of a plan that are in progress at once: as far as pipelining can
     * run ahead of the slowest step. Limits the memory of an operation. */
    LIMIT_TRACKER_ROUNDS = 16,

    /* A table of switch points: some twenty rows of a few names. */
    LIMIT_TUNE_TABLE = 8192,
    LIMIT_SAMPLE_FILE_BYTES =
        1 << 20, /* bytes of a file of measured times: ten thousand
                              lines */
    /* HOOP_TUNING=auto: how many jobs of the same shape run benchmarks, how
     * long each, and with how many ranks at most. */
    LIMIT_BENCHMARK_JOBS = 4,
    LIMIT_BENCHMARK_MS = 1500,
    LIMIT_BENCHMARK_RANKS = 64,
    LIMIT_TUNE_TABLES = 32, /* per session, kept for the next group */

    /* Simulated steps of all ranks, about a second; beyond that, a part
     * represents the whole. Then the rounds of all ranks kept in memory at
     * once. */
    LIMIT_SIMULATION_STEPS = 2 << 20,
    LIMIT_SIMULATION_OPEN_ROUNDS = 1 << 19,
    LIMIT_SIMULATION_RANKS = 1 << 17, /* largest world that can be simulated */

    /* Tasks of a pipeline schedule: 200 MB, and a second. */
    LIMIT_SCHEDULE_TASKS = 1 << 24,
    /* A pipeline stage: how many tasks ahead receives are started, which is
     * more than a forward and a backward with all their messages; sends in
     * progress; and the text it sends to the others when it fails. */
    LIMIT_PIPELINE_PREPOSTED_TASKS = 8,
    LIMIT_PIPELINE_SENDS_IN_FLIGHT = 16,
    LIMIT_ABORT_MESSAGE_TEXT = 512,
    /* How long a stage waits for other expected messages after one did not
     * fit. */
    LIMIT_MISMATCH_WAIT_MS = 200,

    /* Shardings that a search for a redistribution examines: it ends within
     * about 50 ms even on a mesh of eight axes. */
    LIMIT_PATH_SHARDINGS = 1024,

    /* Checkpoints: what an index can make a process read and keep; ten times
     * that of a large model. */
    LIMIT_CHECKPOINT_INDEX = 32 * 1024 * 1024,
    LIMIT_CHECKPOINT_TENSORS = 1 << 17,
    LIMIT_CHECKPOINT_NAME = 1024, /* with the final 0 */
    /* Ranges of a file that one call reads (IOV_MAX). Gaps of up to
     * LIMIT_READ_GAP bytes are read as well instead of being split: a page is
     * read whole. */
    LIMIT_READ_RANGES = 1024,
    LIMIT_READ_GAP = 4096,
    LIMIT_WRITE = 8 * 1024 * 1024, /* per call, while the cache holds it */

    /* State for newcomers: the smallest block, since each has a hash of 16
     * bytes; and what one message carries and how many are in progress:
     * enough for each of many sources, and small enough for the deadline of
     * the last. */
    LIMIT_STATE_NAME = 1024, /* with the final 0 */
    LIMIT_STATE_BLOCK_MIN = 1024,
    LIMIT_STATE_MESSAGE = 4 * 1024 * 1024,
    LIMIT_STATE_IN_FLIGHT = 64,

    /* Control plane messages. */
    LIMIT_RPC_MESSAGE = 4 * 1024 * 1024,
    LIMIT_RPC_BODY = LIMIT_RPC_MESSAGE - 4096, /* the rest is the envelope */
    LIMIT_MESSAGE_DEPTH = 8, /* arrays in arrays; readers keep a stack */
    /* Unanswered requests held by a coordinator, 1 KB each without the body. */
    LIMIT_RPC_REQUESTS = 32768,
    LIMIT_RPC_CONNECTION_REQUESTS = 4096, /* of one connection */
    /* Parked requests of clients with a lesser token; the rest is for
     * workers. */
    LIMIT_PARKED_REQUESTS_OTHERS = LIMIT_RPC_REQUESTS / 8,
    /* A request of a client that has shown no token, or a lesser one: no method
     * that it may call needs more than a few hundred bytes. */
    LIMIT_RPC_SMALL_MESSAGE = 64 * 1024,
    /* Bytes that a coordinator holds for clients (rpc/budget.h), for one
     * connection and for all of a role. A worker may have many unread replies
     * of the largest size; a world of 1,024 ranks gets 100 MB of rosters when
     * it forms. Others read pages and short lists. */
    LIMIT_RPC_WORKER_CONNECTION_BYTES = 64 << 20,
    LIMIT_RPC_WORKER_BYTES = 384 << 20,
    LIMIT_RPC_OPERATOR_CONNECTION_BYTES = 8 << 20,
    LIMIT_RPC_OPERATOR_BYTES = 64 << 20,
    LIMIT_RPC_METRICS_CONNECTION_BYTES = 1 << 20,
    LIMIT_RPC_METRICS_BYTES = 32 << 20,
    LIMIT_RPC_UNAUTH_CONNECTION_BYTES = 96 * 1024,
    LIMIT_RPC_UNAUTH_BYTES = 32 << 20,
    LIMIT_RPC_BYTES = 512 << 20, /* the shares of all roles */
    /* Connections: twice as many as there can be members; unauthenticated ones
     * of one address, which may stand for a rack; unauthenticated ones of this
     * host, where a launcher's workers are. Then the descriptors needed for
     * other files. */
    LIMIT_RPC_CONNECTIONS = 4 * 65536,
    LIMIT_RPC_ORIGIN = 1024,
    LIMIT_RPC_LOOPBACK = 65536,
    LIMIT_RPC_OTHER_FILES = 256,
    /* How long an unauthenticated connection must be silent before it may be
     * closed to make room: longer than a slow network needs between two
     * messages. */
    LIMIT_RPC_SILENCE_MS = 1000,
    LIMIT_RPC_PATIENCE_MS = 10000, /* time limit for authenticating */
    /* How long an accept loop without a free descriptor pauses: long enough to
     * cost little time, short enough for a handshake's deadline. It logs one
     * line per minute. */
    LIMIT_ACCEPT_PAUSE_MS = 100,
    LIMIT_ACCEPT_LOG_MS = 60000,
    /* Log lines that unauthenticated clients cause: this many of a kind in this
     * time. */
    LIMIT_UNAUTHENTICATED_LINES = 20,
    LIMIT_UNAUTHENTICATED_MS = 10000,
    LIMIT_RPC_CALLS = 1024,  /* unanswered calls of one client */
    LIMIT_RPC_METADATA = 16, /* pairs in one request */
    LIMIT_RPC_ADDRESSES = 8, /* of one name, tried in turn */
    /* Replies kept for requests that are sent again. A client may have this
     * many unanswered when its connection breaks. */
    LIMIT_RPC_CACHE_CLIENTS = 2 * 65536, /* as many as members of all jobs */
    LIMIT_RPC_CACHE_REPLIES = LIMIT_RPC_CALLS,
    LIMIT_RPC_CACHE_BYTES = 64 << 20,
    /* How often the cache is searched for expired clients, and how long a reply
     * is kept after its request's deadline. */
    LIMIT_RPC_CACHE_SWEEP_MS = 10000,
    LIMIT_RPC_CACHE_KEEP_MS = 60000,

    LIMIT_STORE_KEY = 1024,
    LIMIT_STORE_VALUE = 1024 * 1024,

    /* The coordinator: what one client, or all clients, can make it keep. */
    LIMIT_JOBS = 1024,
    LIMIT_JOB_WORLDS = 256,    /* living worlds by which one job has grown: each
                               takes a thread and connections of its members */
    LIMIT_ENDED_JOBS = 64,     /* ended jobs that are remembered */
    LIMIT_MEMBERS = 2 * 65536, /* over all jobs */
    /* Memory for a job's members, groups, waiting requests and the changes of
     * keys that a watch may look back at. */
    LIMIT_JOB_BYTES = 256 << 20,
    LIMIT_JOBS_BYTES = 512 << 20, /* over all jobs */
    LIMIT_GROUPS = 65536,         /* per job, one for each rank */
    LIMIT_GROUP_RANKS = 1 << 20,  /* their ranks in total */
    LIMIT_GROUP_NUMBERS = 4096,   /* left with one call */
    LIMIT_STORE_KEYS = 131072,    /* per job: two for each rank */
    /* Keys and values per job, and the overhead counted for each key: to find
     * it, and for the change that a watch may look back at. */
    LIMIT_STORE_OVERHEAD = 384,
    LIMIT_STORE_BYTES = 96 << 20,
    LIMIT_STORE_TOTAL = 512 << 20, /* over all jobs */
    LIMIT_STORE_KEYS_CALL = 1024,  /* in one get, wait or delete */
    /* Changes that a watch can look back at, while their keys take at most this
     * many bytes. */
    LIMIT_STORE_HISTORY = 4096,
    LIMIT_STORE_HISTORY_BYTES = 256 * 1024,
    LIMIT_LIST_PAGE_ENTRIES = 512, /* keys, groups or changes in one answer */
    LIMIT_WAITERS = 2 * 65536,     /* parked requests per job: a watch and a
                                      join or wait for each rank */
    LIMIT_WAITER_BYTES = 32 << 20, /* bytes of their keys */
    LIMIT_STORAGE_UNWRITTEN_BYTES = 64 << 20, /* bytes that wait for the disk */
    LIMIT_STORAGE_CHECK_MS = 600000, /* time to read all data once, from any
                                      disk */
    LIMIT_REPORT_REASON = 256,       /* text of a report about a peer */
    LIMIT_ACTIVITY_DETAILS = 8192,   /* bytes in which a rank says what it is
                                        in; all its texts fit */
    LIMIT_PROGRAM_STACK = 4096,      /* text of the program's stack: about 32
                                        frames, which show where it is */
    LIMIT_PROGRAM_STACK_MS = 300,    /* the time to read it: an answer with it
                                        comes before hoopd stops waiting */
    LIMIT_ACTIVITY_PROCESSES = 8,    /* processes that a rank describes: its
                                        own and some of its host */
    LIMIT_ACTIVITY_WAITS = 4,        /* ranks for which it says how long it
                                        waited */
    LIMIT_ACTIVITY_ASKERS = 4,       /* ranks of which it says that they asked
                                        for a sign of life */
    LIMIT_WHY_CULPRITS = 16,         /* ranks that a verdict names */

    /* Bytes that a peer may send before they were requested, per connection. */
    LIMIT_EAGER_WINDOW = 1024 * 1024,
    /* Of all peers together; a large job has smaller windows. */
    LIMIT_EAGER_TOTAL = 64 * 1024 * 1024,
    /* How much of the eager window one message may use; the rest is granted. */
    LIMIT_EAGER_MESSAGE = 64 * 1024,
    /* Messages up to this size are sent whole while a quarter of the window
     * is free. For larger ones more bytes would be copied if they come too
     * early. */
    LIMIT_EAGER_WHOLE_MESSAGE = 256 * 1024,
    /* Messages that a peer has announced and that are not matched yet. */
    LIMIT_UNEXPECTED = 300000,
    /* Messages that a sender announces at a time; the others wait. */
    LIMIT_RENDEZVOUS_PENDING = 262144,

    /* Bytes of control frames that wait for a peer to read them: answers,
     * heartbeats, failure notices. */
    LIMIT_CONTROL_FRAME_BYTES = 32 * 1024 * 1024,
    /* Failed sends of one rank for want of a connection: so many notices about
     * them may overtake each other. */
    LIMIT_FAILED_SENDS = 1024,

    /* Shared memory between two ranks of a host, per direction: frames in
     * flight, which should stay in the cache. */
    LIMIT_RING_MAX = 1024 * 1024,
    LIMIT_RING_MIN = 64 * 1024,
    /* Of one rank with all others of its host, roughly. */
    LIMIT_RING_TOTAL = 16 * 1024 * 1024,

    /* Shared region of a communicator: its ranks, one bit of a word for each;
     * the slots of a rank; a slot; all slots; and all regions of a process. */
    LIMIT_SHM_REGION_RANKS = 64,
    LIMIT_SHM_REGION_RANK_SLOTS = 4,
    LIMIT_SHM_REGION_SLOT_MAX = 256 * 1024,
    LIMIT_SHM_REGION_SLOT_MIN = 32 * 1024,
    LIMIT_SHM_REGION = 8 * 1024 * 1024,
    LIMIT_SHM_REGIONS = 64 * 1024 * 1024,

    /* Connections to one peer that carry payloads beside the first: limited by
     * a rank's descriptors, and by what more of them ever gained. */
    LIMIT_STREAMS = 8,

    /* Encoded payloads kept for sending them again: as far as one peer may be
     * behind another. */
    LIMIT_ENCODED_PAYLOADS = 16,

    /* Collectives of a communicator known to fail before they are called (one
     * more revokes it); as many receives (one more ends at its deadline, with a
     * warning); and as many last answers of ranks that leave, which only make
     * the text of a failure more precise. */
    LIMIT_EARLY_FAILURES = 1024,

    /* The flight recorder: all of it; calls; how many calls under way it steps
     * over to record a new one; communicators; and their members, as many as
     * one communicator can have. */
    LIMIT_RECORDER_BYTES = 2 * 1024 * 1024,
    LIMIT_RECORDER_CALLS = 8192,
    LIMIT_RECORDER_SKIPS = 64,
    LIMIT_RECORDER_COMMS = 512,
    LIMIT_RECORDER_MEMBERS = 65536,

    /* Communicators known to be closed: late frames for them arrive soon
     * after. */
    LIMIT_CLOSED_CONTEXTS = 256,

    /* Completed requests whose memory is kept for the next, and their scratch
     * memory. */
    LIMIT_POOLED_OPS = 64,
    LIMIT_POOLED_SCRATCH = 256 * 1024 * 1024,

    /* Tensors of a communicator for which the error feedback of 8-bit blocks is
     * kept. Tensors with a new address in each call are limited by this. */
    LIMIT_RESIDUALS = 1024,

    /* Planned redistributions that a mesh keeps. */
    LIMIT_CACHED_PLANS = 32,

    /* The coordinator's HTTP port, which only probes and scrapers use. */
    LIMIT_HTTP_HEADERS = 8 * 1024,
    LIMIT_HTTP_BODY = 1024,
    /* Time limit of a connection, and their number, which is part of
     * LIMIT_RPC_OTHER_FILES. */
    LIMIT_HTTP_MS = 5000,
    LIMIT_HTTP_CONNECTIONS = 64,
    /* Open pages, each a stream of events: also at most a quarter of the
     * connections. Events that the reader of one has not taken yet: all rows of
     * some 10,000 ranks; what does not fit comes later. A reader that takes
     * nothing for so long is cut off. */
    LIMIT_HTTP_STREAMS = 16,
    LIMIT_HTTP_STREAM_BYTES = 4 * 1024 * 1024,
    LIMIT_HTTP_STALL_MS = 15000,
    /* Entries of the log that the page shows: a few hours of a busy hoopd. */
    LIMIT_HTTP_LOG_ENTRIES = 512,
    /* Jobs that have entries there: more than a list of jobs shows at once. */
    LIMIT_HTTP_LOG_JOBS = 128,
    /* Pages that have shown a token, and for how long that counts: a day's
     * work. */
    LIMIT_HTTP_SESSIONS = 64,
    LIMIT_HTTP_SESSION_MS = 12 * 3600 * 1000,

    /* Connections that have not authenticated yet; also at most a quarter of
     * the process's descriptors. */
    LIMIT_HANDSHAKES = 1024,
    LIMIT_HANDSHAKE_MS = 5000,
    /* TLS: bytes read ahead on a connection, and bytes kept until the socket
     * accepts them; a few records each way. Then the size of a certificate
     * chain that a peer may present. */
    LIMIT_TLS_BUFFER = 128 * 1024,
    LIMIT_TLS_CERTIFICATES = 16 * 1024,
};

/* Bytes kept for error feedback (LIMIT_RESIDUALS): as many as the gradients of
 * a large model. */
static const uint64_t LIMIT_RESIDUAL_BYTES = (uint64_t)4 << 30;

/* Bytes of a tensor that a message can make a process allocate. */
static const int64_t LIMIT_TENSOR = (int64_t)1 << 40;

/* Bytes of an object, or of all gathered objects: more is a mistake. */
static const int64_t LIMIT_OBJECT = (int64_t)1 << 40;

/* Address space for the coordinator's data: twice all it may hold. It grows on
 * demand up to the second value. */
static const uint64_t LIMIT_STORAGE_MAP = (uint64_t)1 << 32;
static const uint64_t LIMIT_STORAGE_MAP_MAX = (uint64_t)1 << 38;

#endif
