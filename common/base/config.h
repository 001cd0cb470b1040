/*
 * base/config.h - the settings that exist, and their values in one worker
 *
 * A setting of workers has a number and a field here, and a row in
 * base/setting_table.c, which names the field. Everything that runs in a worker
 * borrows one struct config and reads the fields that it needs, so that a value
 * has one copy.
 */

#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/log.h"

enum setting_id {
    /* Of workers (libhoop). */
    SETTING_COORDINATOR,
    SETTING_JOB,
    SETTING_TOKEN,      /* also of hoopd */
    SETTING_TOKEN_FILE, /* also of hoopd */
    SETTING_RANK,
    SETTING_WORLD_SIZE, /* also of hoopd */
    SETTING_JOIN_TIMEOUT,
    SETTING_TIMEOUT,
    SETTING_FAILURE_TIMEOUT,
    SETTING_LATE_WARNING,
    SETTING_WAIT_NOTICE,
    SETTING_ENDINGS,
    SETTING_ON_FAILURE,
    SETTING_ADVERTISE,
    SETTING_INTERFACE,
    SETTING_PORT,
    SETTING_CODEC,
    SETTING_WIRE_DTYPE,
    SETTING_CHECK,
    SETTING_CHECKSUM,
    SETTING_TRANSPORT,
    SETTING_CMA,
    SETTING_TLS,
    SETTING_TLS_CERT,
    SETTING_TLS_KEY,
    SETTING_TLS_CA,
    SETTING_STREAMS,
    SETTING_NODE,
    SETTING_ALGORITHM,
    SETTING_TUNING,
    SETTING_LOG,
    SETTING_LOG_FORMAT, /* also of hoopd */
    SETTING_RECORDER_DIR,
    SETTING_RECORDER_SIGNAL,
    SETTING_DEBUG_SPIN,
    SETTING_DEBUG_LINK,
    SETTING_DEBUG_FAULT, /* hoopd reads the variable itself */

    /* Of hoopd. */
    SETTING_LISTEN,
    SETTING_HTTP,
    SETTING_HTTP_TLS,
    SETTING_HTTP_TLS_CERT,
    SETTING_HTTP_TLS_KEY,
    SETTING_INSECURE_OPEN,
    SETTING_WORLD_SIZE_MIN,
    SETTING_SETTLE,
    SETTING_LEASE,
    SETTING_DATA_DIR,
    SETTING_DURABILITY,
    SETTING_STANDBY,
    SETTING_CONNECTIONS_PER_ADDRESS,
    SETTING_CONFIG,
    SETTING_LOG_LEVEL,

    SETTING_COUNT,
};

/* The ports from first to last; 0, 0: any port. */
struct port_range {
    uint16_t first;
    uint16_t last;
};

/*
 * The values of settings that are a word of a list, in the order of the words
 * in base/settings.c.
 */

/* The lower part of a codec's id on the wire (codec/codec.h). */
enum codec_id {
    CODEC_NONE = 0,
    CODEC_ZSTD = 1,
    CODEC_PLANES = 2, /* byte planes of the words, each packed by zstd */
    CODEC_AUTO = 3, /* not an id: the sender chooses (codec/codec_autotune.h) */
};

/* The upper part of a codec's id on the wire (codec/loss.h). */
enum codec_loss {
    LOSS_NONE,
    LOSS_BF16,
    LOSS_FP16,
    LOSS_INT8,
};

/* When ranks find out that they have called different things. All ranks must
 * use the same setting. */
enum engine_call_checking {
    ENGINE_CHECK_FRAMES, /* when a frame of one call meets the other call */
    ENGINE_CHECK_BEFORE_DATA, /* before a collective touches a buffer */
};

/* Whether a waiter polls for a while before it sleeps. */
enum engine_spinning {
    ENGINE_SPIN_AUTO,  /* while each rank has a processor (engine/engine.h) */
    ENGINE_SPIN_NEVER, /* it sleeps at once */
    ENGINE_SPIN_ALWAYS,
};

/* What a collective does when a rank is lost (api/retry.h). It is the same for
 * all communicators of a session. */
enum comm_failure_policy {
    COMM_POLICY_FAIL,
    COMM_POLICY_RETRY,
};

/* Whether two ranks of a host share memory (transport/shm/negotiation.h). */
enum shm_mode {
    SHM_MODE_AUTO, /* if possible */
    SHM_MODE_NEVER,
    SHM_MODE_ALWAYS,
};

/* Whether ranks read each other's memory (transport/shm/cma.h). */
enum cma_mode {
    CMA_AUTO, /* if possible and measured to be faster */
    CMA_NEVER,
    CMA_ALWAYS, /* whenever possible */
};

/* What the place of this process in the job adds; no settings. */
struct config_place {
    /* The rank comes from a launcher: in a job that has formed, another rank is
     * accepted. */
    bool prefers_rank;
    uint32_t size_min;  /* 0: world_size */
    uint32_t settle_ms; /* 0: the coordinator's default */
    /* With root: the credential with which this process joined a world of that
     * job; 0: it is a newcomer. */
    uint64_t membership;
    char root[LIMIT_NAME]; /* the job that this world grows; "": none */
};

struct config_log {
    enum log_level level;
    enum log_format format;
};

/* Of recorder/recorder.h. */
struct config_recorder {
    char folder[LIMIT_SETTING]; /* "": no call is recorded */
    char signal[16];            /* "": no signal makes a copy */
};

/* Paths; "": not set. */
struct config_tls {
    char cert[LIMIT_SETTING];
    char key[LIMIT_SETTING];
    char ca[LIMIT_SETTING];
};

/*
 * The resolved configuration of a worker. The type of a field follows from the
 * row of its setting: a text is an array of as many bytes as the setting may
 * have, and one more; a number, a duration in milliseconds and an enum have 32
 * bits; a switch, whose words are off and on, is a bool.
 */
struct config {
    enum codec_id codec;
    enum codec_loss loss; /* only rank 0's value counts */
    enum engine_call_checking checking;
    enum engine_spinning spinning;
    bool has_frame_checksums; /* frames carry checksums, and must carry them */
    bool is_encrypted;        /* HOOP_TLS */
    /* The user has set failure_timeout_ms: do not extend it where the network
     * is bad. */
    bool is_failure_timeout_fixed;
    uint32_t n_streams; /* connections per peer; 0: as many as are useful */
    enum shm_mode shm_negotiation;
    enum cma_mode attaching;
    enum comm_failure_policy on_failure;
    uint32_t join_timeout_ms;
    uint32_t op_timeout_ms; /* of an operation, unless a communicator sets it */
    /* A rank that is waited for and gives no sign of life for this long is
     * lost. 0, which no user can set: no limit. */
    uint32_t failure_timeout_ms;
    /* A rank that is waited for this long is named on standard error. 0: never;
     * also 0 if the user turned the log off. */
    uint32_t late_warning_ms;
    uint32_t wait_notice_ms; /* base/log.h; 0: no notices, likewise */
    struct config_log log;
    struct config_recorder recorder;
    struct port_range ports; /* for the listener that peers connect to */
    uint32_t rank;           /* or RENDEZVOUS_RANK_ANY */
    uint32_t world_size;     /* 0: the coordinator's default */

    struct config_place place;

    char coordinator[LIMIT_ADDRESS];
    char job[LIMIT_NAME];
    char token[LIMIT_TOKEN];         /* "": none */
    char token_file[LIMIT_SETTING];  /* a path; "": not set */
    char advertise[LIMIT_ADDRESS];   /* "": not set */
    char interface[LIMIT_NAME];      /* "": not set */
    char node[LIMIT_NAME];           /* "": not set */
    char algorithms[LIMIT_SETTING];  /* "": no overrides */
    char link[LIMIT_NAME * 2];       /* "": measured when the world forms */
    char exit_status[LIMIT_SETTING]; /* a path; "": not set */
    char faults[LIMIT_SETTING];      /* "": those of the environment */
    /* a path, "auto" or "model"; "": not set, or not read by this rank */
    char tuning[LIMIT_SETTING];
    struct config_tls tls;
};

struct settings;

/* Set each setting to its value in settings, which are a worker's, and
 * everything else to 0. */
void
config_init_from_settings(struct config *config,
                          const struct settings *settings);

/* Wipes the token. */
void
config_deinit(struct config *config);

#endif
