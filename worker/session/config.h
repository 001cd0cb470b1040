/*
 * session/config.h - the resolved configuration with which a session joins
 *
 * Each setting comes from the options of the call, else from the environment,
 * else (rank and world size only) from a launcher's variables, else from the
 * default. A launcher's variables count only if they contradict no setting that
 * was given: all processes that a user starts in a Slurm shell inherit
 * SLURM_PROCID=0.
 */

#ifndef SESSION_CONFIG_H
#define SESSION_CONFIG_H

#include <stdint.h>

#include "hoop/session.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/settings.h"
#include "codec/codec.h"
#include "engine/engine.h"
#include "net/tls.h"
#include "rpc/messages/rendezvous_messages.h"
#include "session/comm.h"
#include "transport/shm/cma.h"
#include "transport/shm/negotiation.h"

struct config {
    char coordinator[LIMIT_ADDRESS];
    char job[LIMIT_NAME];
    char root[LIMIT_NAME];         /* the job that this world grows; "": none */
    char token[LIMIT_TOKEN];       /* "": none */
    char advertise[LIMIT_ADDRESS]; /* "": not set */
    char interface[LIMIT_NAME];    /* "": not set */
    char node[LIMIT_NAME];         /* "": not set */
    char algorithms[LIMIT_SETTING];  /* "": not set */
    char link[LIMIT_NAME * 2];       /* "": measured when the world forms */
    char exit_status[LIMIT_SETTING]; /* a path; "": not set */
    char faults[LIMIT_SETTING];      /* "": not set */
    /* a path; "": not set, or not read by this rank */
    char tuning[LIMIT_SETTING];
    uint32_t rank; /* or RENDEZVOUS_RANK_ANY */
    /* the rank comes from a launcher: in a job that has formed, another rank is
     * accepted */
    bool prefers_rank;
    /* with root: the credential with which this process joined a world of that
     * job; 0: it is a newcomer */
    uint64_t membership;
    uint32_t world_size; /* 0: the coordinator's default */
    uint32_t size_min;   /* 0: world_size */
    uint32_t settle_ms;  /* 0: the coordinator's default */
    uint32_t join_timeout_ms;
    uint32_t op_timeout_ms;
    uint32_t failure_timeout_ms;
    bool is_failure_timeout_fixed; /* the user set it */
    /* 0: none; also 0 if the user turned the log off */
    uint32_t late_warning_ms;
    uint32_t wait_notice_ms; /* likewise */
    enum comm_failure_policy on_failure;
    struct port_range ports; /* for the listener that peers connect to */
    enum codec_id codec;
    enum codec_loss loss; /* only rank 0's value counts */
    enum engine_call_checking checking;
    enum shm_mode shm_negotiation;
    enum cma_mode attaching;
    bool is_encrypted; /* HOOP_TLS; the paths below are "" if not set */
    char tls_cert[LIMIT_SETTING];
    char tls_key[LIMIT_SETTING];
    char tls_ca[LIMIT_SETTING];
    bool has_frame_checksums;
    unsigned n_streams; /* to each peer; 0: chosen automatically */
    enum engine_spinning spinning;
    enum log_level log_level;
    enum log_format log_format;
};

/*
 * Resolve all settings. options may be NULL. Reads the environment, the token
 * file and, unless this process asks for a rank other than 0, the file of
 * HOOP_TUNING.
 * Handle: HOOP_E_INVALID (the text names the setting), HOOP_E_NOT_FOUND (a file
 * is missing).
 * Thread: any, while no thread calls setenv().
 */
enum hoop_status
config_resolve(const struct hoop_join_options *options,
               struct config *out_config);

/* Configure the process-wide log, unless an earlier config that enables logging
 * has already done so. Thread: any. */
void
config_apply_log(const struct config *config);

/* The job name that the user knows, also for a world by which the job has
 * grown. Borrowed. */
const char *
config_job_name(const struct config *config);

/* The paths of the TLS files. Borrowed. */
struct tls_files
config_tls_files(const struct config *config);

/* Wipes the token. */
void
config_deinit(struct config *config);

#endif
