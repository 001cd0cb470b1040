/*
 * main.c - hoopd, the coordinator as a program
 *
 * No test of its own: hoopd_life runs the program.
 */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "hoop/coordinator.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/spelling.h"
#include "net/address.h"
#include "options.h"
#include "probe.h"
#include "standby.h"
#include "version.h"

DEFINE_CLEANUP(hoop_coordinator_t *, hoop_coordinator_destroy)

/* Blocked before any thread exists, so that only sigwait() sees them. */
static void
signals_block(sigset_t *out_ending)
{
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(out_ending);
    sigaddset(out_ending, SIGTERM);
    sigaddset(out_ending, SIGINT);
    pthread_sigmask(SIG_BLOCK, out_ending, NULL);
}

/* Each connection takes one; strangers' connections do, too. More than can be
 * used would only be theirs. */
static void
descriptors_raise(void)
{
    const rlim_t useful = LIMIT_RPC_CONNECTIONS + LIMIT_RPC_OTHER_FILES;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    if (limit.rlim_cur >= useful)
        return;
    limit.rlim_cur = limit.rlim_max < useful ? limit.rlim_max : useful;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        log_warning("coordinator", "only the usual number of connections: %s",
                    strerror(errno));
}

/* What becomes of it all. */
static const char *
data_words(const struct hoop_coordinator_options *options)
{
    static char words[LIMIT_SETTING + LIMIT_NAME];

    if (!options->data_dir || options->durability == HOOP_DURABLE_MEMORY)
        return "everything in memory";
    snprintf(words, sizeof(words), "data in %s that survive %s",
             options->data_dir,
             options->durability == HOOP_DURABLE_DISK ? "the machine"
                                                      : "the process");
    return words;
}

/* Now, or when the one that uses the data has ended. *out_number: the signal
 * that ended the waiting, or 0. */
static enum hoop_status
coordinator_begin(const struct options *options,
                  const sigset_t *ending,
                  hoop_coordinator_t **out_coordinator,
                  int *out_number)
{
    enum hoop_status status = HOOP_E_EXISTS;

    *out_number = 0;
    while (status == HOOP_E_EXISTS) {
        if (options->is_standby) {
            status = standby_wait(&options->coordinator, ending, out_number);
            if (status != HOOP_OK || *out_number)
                return status;
        }
        status = hoop_coordinator_start(&options->coordinator, out_coordinator);
        /* Another standby was sooner. */
        if (!options->is_standby)
            break;
    }
    return status;
}

/* Whoever comes first would say what a job's token is. */
static void
warn_open(const struct hoop_coordinator_options *options)
{
    struct address address;

    if (options->token ||
        (address_resolve(options->listen, &address) == HOOP_OK &&
         address_is_loopback(&address)))
        return;
    log_warning("coordinator",
                "no token, and others than this host can join: anybody may "
                "begin a job, or join one that has none; give --token-file");
}

static int
serve(const struct options *options)
{
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *coordinator = NULL;
    sigset_t ending;
    int number = 0;

    signals_block(&ending);
    descriptors_raise();
    if (coordinator_begin(options, &ending, &coordinator, &number) != HOOP_OK) {
        log_error("coordinator", "cannot start: %s",
                  hoop_coordinator_error_text());
        return EXIT_FAILURE;
    }
    if (!coordinator) {
        log_info("coordinator", "SIG%s: standing by no longer",
                 sigabbrev_np(number));
        return EXIT_SUCCESS;
    }

    const char *http = hoop_coordinator_http_address(coordinator);
    log_info("coordinator",
             "hoopd %s serves workers on %s, http on %s, %s%s, %s",
             version_text, hoop_coordinator_address(coordinator),
             http ? http : "nothing",
             options->coordinator.token ? "one token for every job"
                                        : "a job's first worker sets its token",
             strcmp(options->coordinator.tls, "on") == 0 ? ", under TLS" : "",
             data_words(&options->coordinator));
    warn_open(&options->coordinator);
    sigwait(&ending, &number);
    log_info("coordinator", "SIG%s: draining", sigabbrev_np(number));
    hoop_coordinator_stop(coordinator);
    log_info("coordinator", "stopped");
    return EXIT_SUCCESS;
}

static int
check(const struct options *options)
{
    if (probe_run(options->check, &options->coordinator) == HOOP_OK) {
        printf("%s serves\n", options->check);
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "hoopd: %s does not serve: %s\n", options->check,
            error_text());
    return EXIT_FAILURE;
}

int
main(int argc, char **argv)
{
    CLEANUP(options_deinit) struct options options;

    if (options_init(argc, argv, &options) != HOOP_OK) {
        fprintf(stderr, "hoopd: %s\n", error_text());
        return OPTIONS_EXIT_USAGE;
    }
    log_name("hoopd");
    log_configure(options.log_level, options.log_format);
    if (options.task == OPTIONS_SERVE && options.log_level >= LOG_WARNING)
        spelling_warn();
    return options.task == OPTIONS_CHECK ? check(&options) : serve(&options);
}
