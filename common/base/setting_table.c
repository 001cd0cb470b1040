/*
 * base/setting_table.c - the rows of base/settings.h
 *
 * A row is all there is to add for a setting: reading, checking, --help
 * and the man pages follow. Ports: 4667 spells HOOP on a telephone.
 */

#include <assert.h>

#include "base/limits.h"
#include "base/setting_choices.h"
#include "base/settings.h"

enum {
    MS_PER_SECOND = 1000,
    MS_PER_HOUR = 3600 * MS_PER_SECOND,
    MS_PER_WEEK = 7 * 24 * MS_PER_HOUR,
    PORT_MAX = 65535,
    WORKER = SETTING_USER_WORKER,
    HOOPD = SETTING_USER_HOOPD,
};

static const struct setting rows[SETTING_COUNT] = {
    [SETTING_COORDINATOR] =
        {.name = "coordinator",
         .environment = "HOOP_COORDINATOR",
         .option = "coordinator",
         .placeholder = "HOST:PORT",
         .help = "address of the coordinator to join; several, with commas "
                 "between them, if it has standbys",
         .type = SETTING_TYPE_TEXT,
         .max = LIMIT_ADDRESS - 1,
         .users = WORKER},
    [SETTING_JOB] = {.name = "job",
                     .environment = "HOOP_JOB",
                     .option = "job",
                     .placeholder = "NAME",
                     .help = "job to join; one coordinator serves many",
                     .default_text = "default",
                     .type = SETTING_TYPE_TEXT,
                     .max = LIMIT_NAME - 1,
                     .users = WORKER},
    [SETTING_TOKEN] = {.name = "token",
                       .environment = "HOOP_TOKEN",
                       .option = "token",
                       .placeholder = "TEXT",
                       .help = "secret that all members of the job share",
                       .type = SETTING_TYPE_TEXT,
                       .max = LIMIT_TOKEN - 1,
                       .users = WORKER},
    [SETTING_TOKEN_FILE] = {.name = "token_file",
                            .environment = "HOOP_TOKEN_FILE",
                            .option = "token-file",
                            .placeholder = "PATH",
                            .help = "file whose first line is the token",
                            .type = SETTING_TYPE_TEXT,
                            .max = LIMIT_SETTING - 1,
                            .users = WORKER | HOOPD},
    [SETTING_RANK] = {.name = "rank",
                      .environment = "HOOP_RANK",
                      .option = "rank",
                      .placeholder = "N",
                      .help =
                          "rank to ask for; without it the coordinator chooses",
                      .type = SETTING_TYPE_UINT,
                      .max = LIMIT_RANKS - 1,
                      .users = WORKER},
    [SETTING_WORLD_SIZE] =
        {
            .name = "world_size",
            .environment = "HOOP_WORLD_SIZE",
            .option = "world-size",
            .placeholder = "N",
            .help = "number of ranks with which a job's world forms",
            .type = SETTING_TYPE_UINT,
            .min = 1,
            .max = LIMIT_RANKS,
            .users = WORKER | HOOPD,
        },
    [SETTING_JOIN_TIMEOUT] =
        {
            .name = "join_timeout",
            .environment = "HOOP_JOIN_TIMEOUT",
            .option = "join-timeout",
            .placeholder = "SECONDS",
            .help = "how long joining may take until all have come",
            .default_text = "60",
            .type = SETTING_TYPE_DURATION,
            .min = 1,
            .max = MS_PER_WEEK,
            .users = WORKER,
        },
    [SETTING_TIMEOUT] =
        {
            .name = "timeout",
            .environment = "HOOP_TIMEOUT",
            .option = "timeout",
            .placeholder = "SECONDS",
            .help = "how long an operation may take, of whatever communicator",
            .default_text = "600",
            .default_in_ci = "60",
            .type = SETTING_TYPE_DURATION,
            .min = 1,
            .max = MS_PER_WEEK,
            .users = WORKER,
        },
    [SETTING_FAILURE_TIMEOUT] =
        {
            .name = "failure_timeout",
            .environment = "HOOP_FAILURE_TIMEOUT",
            .option = "failure-timeout",
            .placeholder = "SECONDS",
            .help = "a rank that others wait for is lost when nothing has come "
                    "from its process for so long; late in a call is not lost",
            .default_text = "2",
            .type = SETTING_TYPE_DURATION,
            .min = 50,
            .max = MS_PER_WEEK,
            .users = WORKER,
        },
    [SETTING_LATE_WARNING] =
        {
            .name = "late_warning",
            .environment = "HOOP_LATE_WARNING",
            .option = "late-warning",
            .placeholder = "SECONDS",
            .help = "who is waited for so long is named on standard error, "
                    "unless HOOP_LOG is set to off or error; 0: never",
            .default_text = "10",
            .type = SETTING_TYPE_DURATION,
            .max = MS_PER_WEEK,
            .users = WORKER,
        },
    [SETTING_ENDINGS] =
        {
            .name = "endings",
            .environment = "HOOP_ENDINGS",
            .option = "endings",
            .placeholder = "PATH",
            .help = "file in which the launcher of this host writes how its "
                    "workers have ended; hooprun sets it",
            .type = SETTING_TYPE_TEXT,
            .max = LIMIT_SETTING - 1,
            .users = WORKER,
        },
    [SETTING_ADVERTISE] =
        {.name = "advertise",
         .environment = "HOOP_ADVERTISE",
         .option = "advertise",
         .placeholder = "HOST",
         .help = "address told to the peers instead of the one found",
         .type = SETTING_TYPE_TEXT,
         .max = LIMIT_ADDRESS - 1,
         .users = WORKER},
    [SETTING_INTERFACE] =
        {.name = "interface",
         .environment = "HOOP_INTERFACE",
         .option = "interface",
         .placeholder = "NAME",
         .help = "network interface whose address is told to the peers",
         .type = SETTING_TYPE_TEXT,
         .max = LIMIT_NAME - 1,
         .users = WORKER},
    [SETTING_PORT] = {.name = "port",
                      .environment = "HOOP_PORT",
                      .option = "port",
                      .placeholder = "PORT",
                      .help = "port on which peers connect; 0 takes any",
                      .default_text = "0",
                      .type = SETTING_TYPE_UINT,
                      .max = PORT_MAX,
                      .users = WORKER},
    [SETTING_CODEC] =
        {
            .name = "codec",
            .environment = "HOOP_CODEC",
            .option = "codec",
            .placeholder = "CODEC",
            .help = "how payloads are coded on the wire",
            .default_text = "none",
            .choices = setting_choices_codecs,
            .type = SETTING_TYPE_CHOICE,
            .users = WORKER,
        },
    [SETTING_CHECK] =
        {
            .name = "check",
            .environment = "HOOP_CHECK",
            .option = "check",
            .placeholder = "CHECK",
            .help = "compare calls by their frames, or before each collective",
            .default_text = "frames",
            .choices = setting_choices_checks,
            .type = SETTING_TYPE_CHOICE,
            .users = WORKER,
        },
    [SETTING_ON_FAILURE] =
        {
            .name = "on_failure",
            .environment = "HOOP_ON_FAILURE",
            .option = "on-failure",
            .placeholder = "WHAT",
            .help = "what a call does when a rank is lost: error, or retry, "
                    "done again by those that are left (blocking ones that "
                    "hoop/elastic.h lists); alike for all ranks",
            .default_text = "error",
            .choices = setting_choices_remedies,
            .type = SETTING_TYPE_CHOICE,
            .users = WORKER,
        },
    [SETTING_CHECKSUM] =
        {
            .name = "checksum",
            .environment = "HOOP_CHECKSUM",
            .option = "checksum",
            .placeholder = "WHEN",
            .help = "sum every frame and refuse what was damaged on its way: "
                    "on or off, alike for all ranks",
            .default_text = "off",
            .choices = setting_choices_switches,
            .type = SETTING_TYPE_CHOICE,
            .users = WORKER,
        },
    [SETTING_TRANSPORT] =
        {
            .name = "transport",
            .environment = "HOOP_TRANSPORT",
            .option = "transport",
            .placeholder = "TRANSPORT",
            .help = "way between ranks of one host (auto: shm if possible)",
            .default_text = "auto",
            .choices = setting_choices_transports,
            .type = SETTING_TYPE_CHOICE,
            .users = WORKER,
        },
    [SETTING_TLS] =
        {.name = "tls",
         .environment = "HOOP_TLS",
         .option = "tls",
         .placeholder = "WHEN",
         .help = "encrypt connections to peers and to the coordinator: on or "
                 "off, alike for all of them",
         .default_text = "off",
         .choices = setting_choices_switches,
         .type = SETTING_TYPE_CHOICE,
         .users = WORKER | HOOPD},
    [SETTING_TLS_CERT] = {.name = "tls_cert",
                          .environment = "HOOP_TLS_CERT",
                          .option = "tls-cert",
                          .placeholder = "PATH",
                          .help = "certificate shown to the other side, in PEM",
                          .type = SETTING_TYPE_TEXT,
                          .max = LIMIT_SETTING - 1,
                          .users = WORKER | HOOPD},
    [SETTING_TLS_KEY] = {.name = "tls_key",
                         .environment = "HOOP_TLS_KEY",
                         .option = "tls-key",
                         .placeholder = "PATH",
                         .help = "key of the certificate, in PEM",
                         .type = SETTING_TYPE_TEXT,
                         .max = LIMIT_SETTING - 1,
                         .users = WORKER | HOOPD},
    [SETTING_TLS_CA] = {.name = "tls_ca",
                        .environment = "HOOP_TLS_CA",
                        .option = "tls-ca",
                        .placeholder = "PATH",
                        .help = "who signs certificates that are believed, in "
                                "PEM; without certificates, a key made of the "
                                "token does",
                        .type = SETTING_TYPE_TEXT,
                        .max = LIMIT_SETTING - 1,
                        .users = WORKER | HOOPD},
    [SETTING_STREAMS] =
        {
            .name = "streams",
            .environment = "HOOP_STREAMS",
            .option = "streams",
            .placeholder = "N",
            .help = "connections that share large messages to a peer: auto, "
                    "or 1 to 8; the lower rank's count",
            .default_text = "auto",
            .choices = setting_choices_streams,
            .type = SETTING_TYPE_CHOICE,
            .users = WORKER,
        },
    [SETTING_SPIN] =
        {
            .name = "spin",
            .environment = "HOOP_SPIN",
            .option = "spin",
            .placeholder = "WHEN",
            .help = "look again and again before sleeping in a call: while "
                    "every rank of the host has a processor, never, always",
            .default_text = "auto",
            .choices = setting_choices_spins,
            .type = SETTING_TYPE_CHOICE,
            .users = WORKER,
        },
    [SETTING_NODE] = {.name = "node",
                      .environment = "HOOP_NODE",
                      .option = "node",
                      .placeholder = "NAME",
                      .help = "name of the node, instead of the host",
                      .type = SETTING_TYPE_TEXT,
                      .max = LIMIT_NAME - 1,
                      .users = WORKER},
    [SETTING_ALGORITHM] =
        {.name = "algorithm",
         .environment = "HOOP_ALGORITHM",
         .option = "algorithm",
         .placeholder = "LIST",
         .help = "algorithms to force: allreduce:ring,broadcast:chain; "
                 "rank 0's list counts",
         .type = SETTING_TYPE_TEXT,
         .max = LIMIT_SETTING - 1,
         .users = WORKER},
    [SETTING_LINK] =
        {.name = "link",
         .environment = "HOOP_LINK",
         .option = "link",
         .placeholder = "LIST",
         .help = "what messages cost, instead of measuring it: "
                 "latency=20us,bandwidth=1.2GB/s; rank 0's list counts",
         .type = SETTING_TYPE_TEXT,
         .max = 2 * LIMIT_NAME - 1,
         .users = WORKER},
    [SETTING_TUNING] =
        {
            .name = "tuning",
            .environment = "HOOP_TUNING",
            .option = "tuning",
            .placeholder = "PATH",
            .help = "file of times that hoop-perf --tune measured, to choose "
                    "algorithms by; auto: the first four jobs of up to 64 "
                    "ranks race for 1.5 s each and keep one in the cache "
                    "folder; model: by estimates alone; rank 0's counts",
            .type = SETTING_TYPE_TEXT,
            .max = LIMIT_SETTING - 1,
            .users = WORKER,
        },
    [SETTING_LOG] =
        {
            .name = "log",
            .environment = "HOOP_LOG",
            .option = "log",
            .placeholder = "LEVEL",
            .help = "what the library logs to standard error",
            .default_text = "off",
            .choices = setting_choices_log_levels,
            .type = SETTING_TYPE_CHOICE,
            .users = WORKER,
        },
    [SETTING_LOG_FORMAT] =
        {
            .name = "log_format",
            .environment = "HOOP_LOG_FORMAT",
            .option = "log-format",
            .placeholder = "FORMAT",
            .help = "how log lines are written",
            .default_text = "text",
            .choices = setting_choices_log_formats,
            .type = SETTING_TYPE_CHOICE,
            .users = WORKER | HOOPD,
        },
    [SETTING_LISTEN] = {.name = "listen",
                        .environment = "HOOP_LISTEN",
                        .option = "listen",
                        .placeholder = "HOST:PORT",
                        .help = "address on which workers join",
                        .default_text = "0.0.0.0:4667",
                        .type = SETTING_TYPE_TEXT,
                        .max = LIMIT_ADDRESS - 1,
                        .users = HOOPD},
    [SETTING_HTTP] = {.name = "http",
                      .environment = "HOOP_HTTP",
                      .option = "http",
                      .placeholder = "HOST:PORT",
                      .help = "address of /healthz, /readyz and /metrics",
                      .default_text = "0.0.0.0:4668",
                      .type = SETTING_TYPE_TEXT,
                      .max = LIMIT_ADDRESS - 1,
                      .users = HOOPD},
    [SETTING_WORLD_SIZE_MIN] =
        {
            .name = "world_size_min",
            .environment = "HOOP_WORLD_SIZE_MIN",
            .option = "world-size-min",
            .placeholder = "N",
            .help = "form a world with this many after the settle time",
            .type = SETTING_TYPE_UINT,
            .min = 1,
            .max = LIMIT_RANKS,
            .users = HOOPD,
        },
    [SETTING_SETTLE] =
        {
            .name = "settle",
            .environment = "HOOP_SETTLE",
            .option = "settle",
            .placeholder = "SECONDS",
            .help = "how long to wait for more than the least world size",
            .default_text = "1",
            .type = SETTING_TYPE_DURATION,
            .min = 1,
            .max = MS_PER_HOUR,
            .users = HOOPD,
        },
    [SETTING_LEASE] =
        {
            .name = "lease",
            .environment = "HOOP_LEASE",
            .option = "lease",
            .placeholder = "SECONDS",
            .help = "how long a member may be silent before it is lost",
            .default_text = "10",
            .type = SETTING_TYPE_DURATION,
            .min = 100,
            .max = MS_PER_HOUR,
            .users = HOOPD,
        },
    [SETTING_DATA_DIR] =
        {
            .name = "data_dir",
            .environment = "HOOP_DATA_DIR",
            .option = "data-dir",
            .placeholder = "PATH",
            .help = "folder for what shall outlive hoopd: jobs, groups, keys; "
                    "without it a new hoopd knows nothing of the old one's",
            .type = SETTING_TYPE_TEXT,
            .max = LIMIT_SETTING - 1,
            .users = HOOPD,
        },
    [SETTING_DURABILITY] =
        {
            .name = "durability",
            .environment = "HOOP_DURABILITY",
            .option = "durability",
            .placeholder = "WHAT",
            .help = "what is acknowledged survives nothing (memory), the death "
                    "of hoopd (process), that of the machine (disk)",
            .default_text = "disk",
            .choices = setting_choices_durabilities,
            .type = SETTING_TYPE_CHOICE,
            .users = HOOPD,
        },
    [SETTING_STANDBY] =
        {
            .name = "standby",
            .environment = "HOOP_STANDBY",
            .option = "standby",
            .placeholder = "WHEN",
            .help = "on: while another hoopd uses the data folder wait for its "
                    "end, then serve in its place",
            .default_text = "off",
            .choices = setting_choices_switches,
            .type = SETTING_TYPE_CHOICE,
            .users = HOOPD,
        },
    [SETTING_CONNECTIONS_PER_ADDRESS] =
        {
            .name = "connections_per_address",
            .environment = "HOOP_CONNECTIONS_PER_ADDRESS",
            .option = "connections-per-address",
            .placeholder = "N",
            .help = "connections that an address of another host may have",
            .default_text = "1024",
            .type = SETTING_TYPE_UINT,
            .min = 1,
            .max = LIMIT_RPC_CONNECTIONS,
            .users = HOOPD,
        },
    [SETTING_CONFIG] = {.name = "config",
                        .environment = "HOOP_CONFIG",
                        .option = "config",
                        .placeholder = "PATH",
                        .help = "file of more settings, lines of key = value",
                        .type = SETTING_TYPE_TEXT,
                        .max = LIMIT_SETTING - 1,
                        .users = HOOPD},
    [SETTING_LOG_LEVEL] =
        {
            .name = "log_level",
            .environment = "HOOP_LOG",
            .option = "log-level",
            .placeholder = "LEVEL",
            .help = "what is logged to standard error",
            .default_text = "info",
            .choices = setting_choices_log_levels,
            .type = SETTING_TYPE_CHOICE,
            .users = HOOPD,
        },
};

const struct setting *
setting_row(enum setting_id id)
{
    assert((size_t)id < SETTING_COUNT);
    assert(rows[id].name);
    return &rows[id];
}
