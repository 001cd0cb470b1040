/* base/limits.h - every upper bound of the tree, with its reason */

#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <stdint.h>

enum {
    /* Errors: a record per thread, never allocated. */
    LIMIT_ERROR_TEXT = 1024,
    LIMIT_ERROR_PATH = 1024,

    /* Names of jobs, hosts, methods and the like, with the final 0. */
    LIMIT_NAME = 128,
    LIMIT_ADDRESS = 288, /* a DNS name is at most 253 characters, plus port */
    LIMIT_TOKEN = 256,

    /* Settings: paths are the longest; a file is some forty lines. */
    LIMIT_SETTING = 1024,
    /* Of a thread that calls hoop: most of it is for planning a redistribution,
     * and for looking up names while joining. */
    LIMIT_STACK = 192 * 1024,
    LIMIT_SETTINGS_FILE = 64 * 1024,
    LIMIT_CHOICES = 256, /* of a setting, as a text */

    /* The wire: see docs/wire-format.md. */
    LIMIT_FRAME_HEADER = 128,
    LIMIT_FRAME_PAYLOAD = 512 * 1024, /* half an L2 cache */
    LIMIT_FRAME_PAD = 64,
    /* What is read of a connection before it is known what comes: a payload of
     * 16 KiB with its header by one call; of a larger one, so much is copied. */
    LIMIT_READ_AHEAD = 16 * 1024 + 2 * LIMIT_FRAME_HEADER,

    /* Rules of HOOP_DEBUG_FAULT that are about one rank: bits of a word. */
    LIMIT_FAULTS = 32,

    /* Ranks of one job: bounds what a roster can make us allocate. */
    LIMIT_RANKS = 65536,

    /* Rounds of a plan that may be under way at once: as far as pipelining can
     * run ahead of the slowest step; bounds the memory of an operation. */
    LIMIT_TRACKER_ROUNDS = 16,

    /* A table of switch points: some twenty rows of a few names. */
    LIMIT_TUNE_TABLE = 8192,
    LIMIT_RACES = 1 << 20, /* a file of times measured: ten thousand lines */
    /* HOOP_TUNING=auto: how often jobs of a form race, how long each, and with
     * how many ranks at most. */
    LIMIT_CONTESTS = 4,
    LIMIT_BENCHMARK_MS = 1500,
    LIMIT_CONTEST_RANKS = 64,
    LIMIT_TUNE_TABLES = 32, /* of one session, kept for the next group */

    /* Simulated steps of all ranks: a second; beyond that, a part stands for
     * the whole. And rounds of all ranks remembered at once: memory. */
    LIMIT_SIMULATION_STEPS = 2 << 20,
    LIMIT_SIMULATION_OPEN = 1 << 19,
    LIMIT_SIMULATION_RANKS = 1 << 17, /* as many can be asked about */

    /* Tasks of a pipeline's schedule: 200 MB, and a second. */
    LIMIT_SCHEDULE_TASKS = 1 << 24,
    /* A stage that runs one: receives of so many tasks ahead are started, which
     * is more than a forward and a backward with all their messages; sends that
     * are not through; and what it tells the others when it fails. */
    LIMIT_RUN_AHEAD = 8,
    LIMIT_RUN_SENDS = 16,
    LIMIT_ABORT_MESSAGE_TEXT = 512,
    /* Between stages, once a message did not fit: for what else is expected. */
    LIMIT_DOUBT_MS = 200,

    /* Shardings that a search for a redistribution looks at: it ends within some
     * 50 ms on a mesh of eight axes, too. */
    LIMIT_PATH_SHARDINGS = 1024,

    /* Checkpoints: what an index can make us read and keep; ten times the bytes
     * of a large one. */
    LIMIT_CHECKPOINT_INDEX = 32 * 1024 * 1024,
    LIMIT_CHECKPOINT_TENSORS = 1 << 17,
    LIMIT_CHECKPOINT_NAME = 1024, /* with the final 0 */
    /* Ranges of a file that one call reads: IOV_MAX. And so many bytes between
     * two are read along rather than asked for apart: a page comes whole. */
    LIMIT_READ_RANGES = 1024,
    LIMIT_READ_GAP = 4096,
    LIMIT_WRITE = 8 * 1024 * 1024, /* in one call, while the cache has it */

    /* States for newcomers: how small a block may be, since each has 16 bytes of
     * hash; and what one message carries, of which so many are under way: enough
     * for each of many sources, and no deadline is too short for the last. */
    LIMIT_STATE_NAME = 1024, /* with the final 0 */
    LIMIT_STATE_BLOCK_MIN = 1024,
    LIMIT_STATE_MESSAGE = 4 * 1024 * 1024,
    LIMIT_STATE_UNDER_WAY = 64,

    /* Control plane messages. */
    LIMIT_RPC_MESSAGE = 4 * 1024 * 1024,
    LIMIT_RPC_BODY = LIMIT_RPC_MESSAGE - 4096, /* the rest is the envelope */
    LIMIT_MESSAGE_DEPTH = 8, /* arrays in arrays; readers keep a stack */
    /* Requests a coordinator holds unanswered; 1 KB each, without the body ... */
    LIMIT_RPC_REQUESTS = 32768,
    LIMIT_RPC_PIPE_REQUESTS = 4096, /* ... of one connection */
    /* ... of who has a lesser token: the others are for those who work. */
    LIMIT_ONLOOKERS = LIMIT_RPC_REQUESTS / 8,
    /* A request of who has shown no token, or a lesser one: no method that such
     * a token may call needs more than a few hundred bytes. */
    LIMIT_RPC_SMALL_MESSAGE = 64 * 1024,
    /* Bytes that a coordinator holds for others (rpc/budget.h): for one
     * connection, and for all of a role. A worker may have many replies of the
     * largest size unread; a world of 1,024 ranks is 100 MB of rosters when it
     * forms. Others read pages and short lists. */
    LIMIT_RPC_WORKER_CONNECTION_BYTES = 64 << 20,
    LIMIT_RPC_WORKER_BYTES = 384 << 20,
    LIMIT_RPC_OPERATOR_CONNECTION_BYTES = 8 << 20,
    LIMIT_RPC_OPERATOR_BYTES = 64 << 20,
    LIMIT_RPC_METRICS_CONNECTION_BYTES = 1 << 20,
    LIMIT_RPC_METRICS_BYTES = 32 << 20,
    LIMIT_RPC_UNAUTH_CONNECTION_BYTES = 96 * 1024,
    LIMIT_RPC_UNAUTH_BYTES = 32 << 20,
    LIMIT_RPC_BYTES = 512 << 20, /* the shares of all roles */
    /* Connections: of all members there can be, and as many again; of those of
     * one address that have shown no token, which may be that of a rack behind
     * one; of this host, where a launcher's workers are. And files besides. */
    LIMIT_RPC_CONNECTIONS = 4 * 65536,
    LIMIT_RPC_ORIGIN = 1024,
    LIMIT_RPC_LOOPBACK = 65536,
    LIMIT_RPC_OTHER_FILES = 256,
    /* A connection that shows no token may make room for others when it has been
     * silent so long: more than a slow network needs between two messages. */
    LIMIT_RPC_SILENCE_MS = 1000,
    LIMIT_RPC_PATIENCE_MS = 10000, /* with a connection that shows no token */
    /* An accept loop that has no descriptor left rests so long between two
     * attempts, long enough that it takes no time worth mentioning and short
     * enough for a handshake's deadline; and logs one line in a minute. */
    LIMIT_ACCEPT_PAUSE_MS = 100,
    LIMIT_ACCEPT_LOG_MS = 60000,
    /* Lines of a log that strangers cause: so many in this time, of a kind. */
    LIMIT_UNAUTHENTICATED_LINES = 20,
    LIMIT_UNAUTHENTICATED_MS = 10000,
    LIMIT_RPC_CALLS = 1024,  /* of one client, not answered yet */
    LIMIT_RPC_METADATA = 16, /* pairs in one request */
    LIMIT_RPC_ADDRESSES = 8, /* of one name, tried in turn */
    /* Replies kept for requests that are sent again. A client's are as many
     * as it can have unanswered when its connection breaks. */
    LIMIT_RPC_CACHE_CLIENTS = 2 * 65536, /* as members, of all jobs */
    LIMIT_RPC_CACHE_REPLIES = LIMIT_RPC_CALLS,
    LIMIT_RPC_CACHE_BYTES = 64 << 20,
    /* They are looked through so often for clients that will ask nothing again,
     * and kept for so long after their deadlines. */
    LIMIT_RPC_CACHE_SWEEP_MS = 10000,
    LIMIT_RPC_CACHE_SPARE_MS = 60000,

    LIMIT_STORE_KEY = 1024,
    LIMIT_STORE_VALUE = 1024 * 1024,

    /* The coordinator: what one client, or all, can make it keep. */
    LIMIT_JOBS = 1024,
    LIMIT_JOB_WORLDS = 256, /* by which one job has grown, and that live: each
                                  takes a thread and connections of members */
    LIMIT_ENDED_JOBS = 64,  /* of which it remembers that they were */
    LIMIT_MEMBERS = 2 * 65536, /* over all jobs */
    /* What is allocated for a job's members, groups, waiting requests and changes
     * of keys that a watch may look back at ... */
    LIMIT_JOB_BYTES = 256 << 20,
    LIMIT_JOBS_BYTES = 512 << 20, /* ... and over all jobs */
    LIMIT_GROUPS = 65536,         /* per job, one for each rank ... */
    LIMIT_GROUP_RANKS = 1 << 20,  /* ... with this many ranks in all */
    LIMIT_GROUP_NUMBERS = 4096,   /* left with one call */
    LIMIT_STORE_KEYS = 131072,    /* per job: two for each rank */
    /* Keys and values, per job, with so much for each key beside them: what it
     * takes to find it, and the change that a watch may look back at ... */
    LIMIT_STORE_OVERHEAD = 384,
    LIMIT_STORE_BYTES = 96 << 20,
    LIMIT_STORE_TOTAL = 512 << 20, /* ... and over all jobs */
    LIMIT_STORE_KEYS_CALL = 1024,  /* in one get, wait or delete */
    /* Changes a watch can look back, as long as their keys take so many bytes. */
    LIMIT_STORE_HISTORY = 4096,
    LIMIT_STORE_HISTORY_BYTES = 256 * 1024,
    LIMIT_PAGE = 512,              /* keys, groups or changes in one answer */
    LIMIT_WAITERS = 2 * 65536,     /* parked requests per job: a watch and a
                                      join or wait for each rank ... */
    LIMIT_WAITER_BYTES = 32 << 20, /* ... whose keys take this much */
    LIMIT_KEEP_WAITING = 64 << 20, /* bytes that wait for the disk */
    LIMIT_KEEP_CHECK_MS = 600000,  /* all data is read once, from any disk */
    LIMIT_REASON = 256,            /* text with which a peer is reported */

    /* Bytes a peer may send before we asked for them, per connection. */
    LIMIT_EAGER_WINDOW = 1024 * 1024,
    /* ... and all peers together; a large job's windows are smaller. */
    LIMIT_EAGER_TOTAL = 64 * 1024 * 1024,
    /* ... of which one message may use this much, and is granted the rest ... */
    LIMIT_EAGER_MESSAGE = 64 * 1024,
    /* ... unless it goes whole: up to this, while a quarter of the window stays
     * free. Of larger ones more would be copied where they come too early. */
    LIMIT_EAGER_WHOLE = 256 * 1024,
    /* Messages a peer may announce and we have not matched yet. */
    LIMIT_UNEXPECTED = 300000,
    /* ... and what a sender announces at a time; the rest waits for it. */
    LIMIT_RENDEZVOUS_PENDING = 262144,

    /* Bytes that wait for a peer to read them beside its messages: answers,
     * signs of life, news of failures. */
    LIMIT_CONTROLS = 32 * 1024 * 1024,
    /* Sends of one rank that failed for want of a connection: so many news of
     * them may overtake each other on their ways. */
    LIMIT_FAILED_SENDS = 1024,

    /* Shared memory between two ranks of a host, for each direction: frames in
     * flight, which shall not leave the cache ... */
    LIMIT_RING_MAX = 1024 * 1024,
    LIMIT_RING_MIN = 64 * 1024,
    /* ... and of one rank with all others of its host, roughly. */
    LIMIT_RING_TOTAL = 16 * 1024 * 1024,

    /* Shared memory of all ranks of a communicator: of a slot, of which each
     * has four; of all slots; and of what all communicators of a process use. */
    LIMIT_SHM_REGION_SLOT_MAX = 256 * 1024,
    LIMIT_SHM_REGION_SLOT_MIN = 32 * 1024,
    LIMIT_SHM_REGION = 8 * 1024 * 1024,
    LIMIT_SHM_REGIONS = 64 * 1024 * 1024,

    /* Connections to one peer that carry payloads beside the first: descriptors
     * of a rank, and what more of them ever brought. */
    LIMIT_STREAMS = 8,

    /* Coded payloads that are kept for a flow to send them again: as far as one
     * peer may be behind another. */
    LIMIT_ENCODED_PAYLOADS = 16,

    /* Operations of a communicator known to fail before they are called. */
    LIMIT_EARLY_VERDICTS = 1024,

    /* Communicators that are known to have been closed: what comes late for
     * them comes soon after. */
    LIMIT_CONTEXTS_GONE = 256,

    /* Operations whose memory is kept for the next, and their scratch. */
    LIMIT_SPARE_OPS = 64,
    LIMIT_SPARE_SCRATCH = 256 * 1024 * 1024,

    /* Tensors of a communicator of which is kept what 8-bit blocks lost. Those
     * that lie elsewhere in each call end here. */
    LIMIT_RESIDUALS = 1024,

    /* Redistributions of tensors, planned, that a mesh keeps for the next. */
    LIMIT_CACHED_PLANS = 32,

    /* The coordinator's HTTP port: probes and scrapers, nobody else. */
    LIMIT_HTTP_HEADERS = 8 * 1024,
    LIMIT_HTTP_BODY = 1024,
    /* A connection of it, in all, and how many: a part of the files besides. */
    LIMIT_HTTP_MS = 5000,
    LIMIT_HTTP_CONNECTIONS = 64,

    /* Connections that have not proved themselves yet, and not more than a
     * quarter of the files that the process may open. */
    LIMIT_HANDSHAKES = 1024,
    LIMIT_HANDSHAKE_MS = 5000,
    /* TLS: what it reads ahead on a connection, and what it keeps until the
     * socket takes it; a few records each way, for large calls. And bytes of
     * certificates that somebody may show. */
    LIMIT_TLS_BUFFER = 128 * 1024,
    LIMIT_TLS_CERTIFICATES = 16 * 1024,
};

/* Bytes of what is kept of them (LIMIT_RESIDUALS): as much as the gradients of a large model. */
static const uint64_t LIMIT_RESIDUE_BYTES = (uint64_t)4 << 30;

/* Bytes of a tensor of any shape that a message can make us allocate. */
static const int64_t LIMIT_TENSOR = (int64_t)1 << 40;

/* Bytes of an object, or of all that are gathered: more is a mistake. */
static const int64_t LIMIT_OBJECT = (int64_t)1 << 40;

/* Bytes of addresses for the coordinator's data; twice all it may hold. More
 * is taken when it is needed, up to the second. */
static const uint64_t LIMIT_KEEP_MAP = (uint64_t)1 << 32;
static const uint64_t LIMIT_KEEP_MAP_MAX = (uint64_t)1 << 38;

#endif
