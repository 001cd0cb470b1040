/*
 * session/config.h - the config on which a session joins, from all sources
 *
 * For each setting: the options of the call, else the environment, else (rank
 * and world size) a launcher's variables, else the default. A launcher is
 * believed only where it contradicts nothing that was said: processes that
 * somebody starts inside a Slurm shell all inherit SLURM_PROCID=0.
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
#include "transport/cma.h"
#include "transport/shm_negotiation.h"

struct config {
    char coordinator[LIMIT_ADDRESS];
    char job[LIMIT_NAME];
    char root[LIMIT_NAME];           /* the job that grows by it; "": none */
    char token[LIMIT_TOKEN];         /* "": none */
    char advertise[LIMIT_ADDRESS];   /* "": not said */
    char interface[LIMIT_NAME];      /* "": not said */
    char node[LIMIT_NAME];           /* "": not said */
    char algorithms[LIMIT_SETTING];  /* "": not said */
    char link[LIMIT_NAME * 2];       /* "": to be measured */
    char exit_status[LIMIT_SETTING]; /* a path; "": not said */
    char faults[LIMIT_SETTING];      /* "": not said */
    char tuning[LIMIT_SETTING]; /* a path; "": not said, or not for this rank */
    uint32_t rank;              /* or RENDEZVOUS_RANK_ANY */
    bool prefers_rank;          /* a launcher gave it: where the job has formed,
                                   another will do */
    uint64_t membership;        /* with root: what it joined one of its worlds
                                   with; 0: it comes new */
    uint32_t world_size;        /* 0: the coordinator's */
    uint32_t size_min;          /* 0: all */
    uint32_t settle_ms;         /* 0: the coordinator's */
    uint32_t join_timeout_ms;
    uint32_t op_timeout_ms;
    uint32_t failure_timeout_ms;
    bool is_failure_timeout_fixed; /* it is no default */
    uint32_t late_warning_ms; /* 0: none, also where the log is off by word */
    uint32_t wait_notice_ms;  /* likewise */
    enum comm_failure_policy on_failure;
    struct port_range ports; /* where peers connect */
    enum codec_id codec;
    enum codec_loss loss; /* counts on rank 0 of the job */
    enum engine_checking checking;
    enum shm_mode shm_negotiation;
    enum cma_mode attaching;
    bool is_encrypted; /* HOOP_TLS; the paths: "": not said */
    char tls_cert[LIMIT_SETTING];
    char tls_key[LIMIT_SETTING];
    char tls_ca[LIMIT_SETTING];
    bool is_summing;
    unsigned n_streams; /* to each peer; 0: as many as are worth it */
    enum engine_spinning spinning;
    enum log_level log_level;
    enum log_format log_format;
};

/*
 * options may be NULL. Reads the environment, the token file and, unless it asks
 * for another rank than 0, HOOP_TUNING.
 * Handle: HOOP_E_INVALID (the text names the setting), HOOP_E_NOT_FOUND (one
 * of the files). Thread: while nobody calls setenv().
 */
enum hoop_status
config_resolve(const struct hoop_join_options *options,
               struct config *out_config);

/* Log as they say. The log is the process's: the first that ask for it have it.
 * Thread: any. */
void
config_apply_log(const struct config *config);

/* The job as the user calls it, also where it is a world that the job grows by.
 * Borrowed. */
const char *
config_job_name(const struct config *config);

/* Their paths, borrowed. */
struct tls_files
config_tls(const struct config *config);

/* Wipes the token. */
void
config_deinit(struct config *config);

#endif
