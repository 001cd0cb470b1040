/* hooprun/main.c - runs N workers, here or on other hosts, as one hoop job */

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hoop/control.h"

#include "hooprun/agent.h"
#include "hooprun/host_agent.h"
#include "hooprun/options.h"
#include "hooprun/output.h"
#include "hooprun/process_group.h"
#include "hooprun/reach.h"
#include "hooprun/records.h"
#include "hooprun/supervisor.h"
#include "standard_output.h"
#include "variable.h"

enum {
    JOB_TEXT_MAX = 512,
    DESCRIPTORS_OTHER = 64, /* for hooprun itself, more than it needs */
};

/* Two pipes, a process and a file per worker may exceed the usual soft limit of
 * 1024. */
static void
descriptors_raise(uint32_t n_workers)
{
    const rlim_t needed = 4 * (rlim_t)n_workers + DESCRIPTORS_OTHER;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return;
    limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Open the standard descriptors that are closed, so that other files do not get
 * their numbers. Writing to them fails as before. */
static void
descriptors_reserve(void)
{
    int fd = -1;

    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* Return whether workers run on other hosts than this one. */
static bool
hosts_are_others(const struct options *options)
{
    for (uint32_t i = 0; i < options->hosts.n_hosts; i++) {
        if (!host_is_this(options->hosts.hosts[i].name))
            return true;
    }
    return false;
}

/* Print which environment variables of the user do not apply to the workers.
 * Those set by an outer hooprun are meant for its own worker. */
static void
overruled_tell(const struct options *options)
{
    const char *coordinator = variable("HOOP_COORDINATOR");
    const char *rank = variable("HOOP_RANK");
    const char *size = variable("HOOP_WORLD_SIZE");

    if (options->is_agent || getenv("HOOP_ENDINGS"))
        return;
    if (coordinator && !options->coordinator)
        warnx("HOOP_COORDINATOR=%s is not used: this run has a coordinator of "
              "its own; --coordinator uses another",
              coordinator);
    if (rank)
        warnx("HOOP_RANK=%s is not used: each worker has a rank of its own",
              rank);
    if (size && strtoul(size, NULL, 10) != options->n_workers)
        warnx("HOOP_WORLD_SIZE=%s is not used: there are %u workers%s", size,
              options->n_workers,
              options->hosts.n_hosts == 0 &&
                      strtoul(size, NULL, 10) > options->n_workers
                  ? "; for ranks on several hosts use --hosts, once"
                  : "");
}

static int
run_with_supervisor(struct worker_setup *setup, struct outcome *out_outcome)
{
    char token[SUPERVISOR_TOKEN_MAX];
    char addresses[REACH_LIST_BYTES];
    struct supervisor supervisor = {0};

    if (supervisor_token(token) != HOOP_OK)
        return EXIT_FAILURE;
    if (supervisor_start(token,
                         hosts_are_others(setup->options) ? reach_listen()
                                                          : "127.0.0.1:0",
                         &supervisor) != HOOP_OK)
        return EXIT_FAILURE;
    if (hosts_are_others(setup->options))
        reach_expand(supervisor.address, addresses);
    else
        snprintf(addresses, sizeof(addresses), "%s", supervisor.address);
    setup->coordinator = addresses;
    setup->token = token;
    const int code = process_group_run(setup, &supervisor, out_outcome);
    supervisor_stop(&supervisor);
    return code;
}

/* Return whether a worker has failed by itself and a restart is left. */
static bool
restart_is_due(const struct worker_setup *setup, const struct outcome *outcome)
{
    return outcome->has_failed && !outcome->has_timed_out &&
           outcome->passed_signal == 0 &&
           setup->n_restarts < setup->options->n_restarts;
}

/* Find the token of the given coordinator, for workers of other hosts, which
 * may not have its file. */
static bool
token_find(struct worker_setup *setup)
{
    static struct hoop_control_token_text token;

    if (!variable("HOOP_TOKEN") && !variable("HOOP_TOKEN_FILE"))
        return true;
    if (hoop_control_token(NULL, "worker", &token) != HOOP_OK) {
        warnx("%s", hoop_error_text());
        return false;
    }
    setup->token = token.text;
    return true;
}

/* Each run has its own coordinator, unless one was given. */
static int
runs_make(struct worker_setup *setup, struct outcome *out_last)
{
    const struct options *options = setup->options;

    for (;;) {
        char port[16];

        *out_last = (struct outcome){0};
        snprintf(port, sizeof(port), "%u", reach_free_port("127.0.0.1"));
        setup->master_port = port;
        const int code = options->coordinator
                             ? process_group_run(setup, NULL, out_last)
                             : run_with_supervisor(setup, out_last);

        if (!restart_is_due(setup, out_last))
            return code;
        setup->n_restarts++;
        warnx("starting all %u workers again: restart %u of %u",
              options->n_workers, setup->n_restarts, options->n_restarts);
    }
}

/* Print how to see what the ranks called before the end. */
static void
records_tell(const struct options *options, const struct records *records)
{
    const char *folder = variable("HOOP_RECORDER_DIR");
    char job[JOB_TEXT_MAX];

    hoop_escape(options->job, job, sizeof(job));
    if (folder && options->hosts.n_hosts == 0 && access(folder, F_OK) != 0)
        return; /* no rank could make it, and each has said so */
    if (folder)
        warnx("what each rank called last: hoopctl record %s", folder);
    else if (records->path[0])
        warnx(
            "what each rank called last: hoopctl record --job=%s (kept in %s)",
            job, records->path);
    else
        warnx(
            "what each rank called last: hoopctl record --job=%s, on each host",
            job);
}

static int
run_in_agent(void *owner, const struct agent_front *front)
{
    struct worker_setup *setup = owner;
    const struct options *options = setup->options;
    const bool has_hosts = options->hosts.n_hosts > 0;
    struct records records = {.fd = -1};
    struct outcome last;

    setup->front = front;
    if (options->coordinator && has_hosts && !token_find(setup))
        return EXIT_FAILURE;
    if (options->is_recorded && !has_hosts)
        records_open(&records, options->n_workers);
    setup->records = records.path;
    const int code = runs_make(setup, &last);
    const bool is_kept = records_close(&records, code);
    const bool has_failed =
        last.has_failed || last.has_timed_out || last.passed_signal != 0;

    if (is_kept || (has_failed && (variable("HOOP_RECORDER_DIR") ||
                                   (options->is_recorded && has_hosts))))
        records_tell(options, &records);
    return code;
}

int
main(int argc, char **argv)
{
    static struct options options;
    sigset_t mask;
    sigset_t old_mask;

    standard_output_check_at_exit();
    argv[0] = program_invocation_short_name;
    options_parse(argc, argv, &options);
    overruled_tell(&options);
    if (options.is_agent)
        descriptors_raise(OPTIONS_WORKERS_MAX);
    if (options.is_encrypted)
        setenv("HOOP_TLS", "on", 1);
    descriptors_reserve();
    descriptors_raise(options.n_workers + options.hosts.n_hosts);
    if (options.output &&
        output_prepare(options.output, options.n_workers) != HOOP_OK)
        return EXIT_FAILURE;
    process_group_block(&mask, &old_mask);

    struct worker_setup setup = {
        .options = &options,
        .coordinator = options.coordinator,
        .has_terminal = isatty(STDERR_FILENO) == 1,
        .master_address = "127.0.0.1",
        .records = "",
        .input_fd = -1,
        .old_mask = &old_mask,
        /* If hooprun may write no more, write() reports it. */
        .xfsz_action = signal(SIGXFSZ, SIG_IGN),
    };
    return agent_run(options.is_agent ? host_agent_run : run_in_agent, &setup,
                     &mask);
}
