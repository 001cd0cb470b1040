/* main.c - hoopd, the coordinator as a program */

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/spelling.h"
#include "coordinator.h"
#include "expiry.h"
#include "options.h"
#include "probe.h"
#include "repair.h"
#include "standby.h"
#include "storage/database.h"

enum {
    MALLOC_MMAP_THRESHOLD_BYTES = 128 * 1024,
};

DEFINE_CLEANUP(hoop_coordinator_t *, hoop_coordinator_destroy)

/* Signals are blocked before any thread exists, so that only sigtimedwait()
 * receives them. */
static void
shutdown_signals_block(sigset_t *out_ending)
{
    signal(SIGPIPE, SIG_IGN);
    /* A write beyond RLIMIT_FSIZE then fails, as one to a full disk does. */
    signal(SIGXFSZ, SIG_IGN);
    sigemptyset(out_ending);
    sigaddset(out_ending, SIGTERM);
    sigaddset(out_ending, SIGINT);
    pthread_sigmask(SIG_BLOCK, out_ending, NULL);
}

/* The data file is mapped into memory, so truncating it while hoopd uses it
 * removes pages and causes a fault. The next start checks the file. */
static void
on_memory_fault(int number)
{
    static const char words[] =
        " was cut short or damaged while hoopd used it; the next start will "
        "check it, and --data-repair keeps what can be read\n";
    const char *path = database_path_used_by_thread();

    if (path) {
        (void)!write(STDERR_FILENO, "hoopd: ", 7);
        (void)!write(STDERR_FILENO, path, strlen(path));
        (void)!write(STDERR_FILENO, words, sizeof(words) - 1);
    }
    signal(number, SIG_DFL); /* The same access faults again and kills. */
}

static void
fault_handlers_install(void)
{
    signal(SIGBUS, on_memory_fault);
    signal(SIGSEGV, on_memory_fault);
}

/* Every connection takes a descriptor, also one of an unauthenticated client.
 * Descriptors beyond what hoopd can use would serve only such clients. */
static void
descriptor_limit_raise(void)
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

/* Describe where the data are kept, and what they survive. */
static const char *
durability_describe(const struct hoop_coordinator_options *options)
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

/* Start the coordinator now or, as a standby, when the hoopd that uses the data
 * has ended. *out_number is the signal that ended the wait, or 0. */
static enum hoop_status
coordinator_start_or_stand_by(const struct options *options,
                              const sigset_t *ending,
                              hoop_coordinator_t **out_coordinator,
                              int *out_number)
{
    enum hoop_status status =
        options_check_listen_exposure(&options->coordinator);

    *out_number = 0;
    if (status != HOOP_OK)
        return status;
    status = HOOP_E_EXISTS;
    while (status == HOOP_E_EXISTS) {
        if (options->is_standby) {
            status = standby_wait(&options->coordinator, ending, out_number);
            if (status != HOOP_OK || *out_number)
                return status;
        }
        status = hoop_coordinator_start(&options->coordinator, out_coordinator);
        /* A standby waits again if another standby has taken the data. */
        if (!options->is_standby)
            break;
    }
    return status;
}

/* Log who can connect to a coordinator without authentication. */
static void
insecure_exposure_warn(const struct hoop_coordinator_options *options)
{
    if (options_require_authentication(options))
        return;
    if (options_allow_anybody(options))
        log_warning("coordinator",
                    "insecure-open, and no token: anybody who can connect may "
                    "begin a job, or join one; HOOP_TOKEN or --token-file "
                    "keeps strangers out");
    else
        log_info("coordinator",
                 "no token, so only processes of this host can connect; for "
                 "others set HOOP_TOKEN or --token-file");
}

/* Write "a:1 and [::1]:1", because the log line separates its items by
 * commas. */
static void
address_list_spell_out(const char *list, char *text, size_t n_bytes)
{
    size_t n_text = 0;

    text[0] = '\0';
    while (list && n_text < n_bytes) {
        const size_t n_item = strcspn(list, ",");
        const bool is_last = !list[n_item];

        n_text += (size_t)snprintf(text + n_text, n_bytes - n_text, "%.*s%s",
                                   (int)n_item, list, is_last ? "" : " and ");
        list = is_last ? NULL : list + n_item + 1;
    }
}

enum end {
    SHUTDOWN_BY_SIGNAL,
    SHUTDOWN_REPLACED,      /* another hoopd uses the data */
    SHUTDOWN_CLUSTER_EMPTY, /* --until-empty, and no member is left */
};

static enum end
shutdown_wait(const hoop_coordinator_t *coordinator,
              const struct options *options,
              const sigset_t *ending,
              int *out_number)
{
    static const struct timespec signal_poll_interval = {.tv_nsec =
                                                             200 * 1000000L};
    struct cert_expiry_watch expiries;
    struct idle_shutdown idle_shutdown;

    cert_expiry_watch_init(&expiries, &options->coordinator);
    idle_shutdown_init(&idle_shutdown, options->until_empty_s, STDIN_FILENO);
    do {
        cert_expiry_watch_warn(&expiries, time(NULL));
        *out_number = sigtimedwait(ending, NULL, &signal_poll_interval);
        if (coordinator_is_replaced(coordinator))
            return SHUTDOWN_REPLACED;
        const struct coordinator_member_counts occupancy =
            coordinator_member_counts(coordinator);
        if (options->until_empty_s > 0 &&
            idle_shutdown_is_due(&idle_shutdown, &occupancy, clock_now_ns()))
            return SHUTDOWN_CLUSTER_EMPTY;
    } while (*out_number <= 0);
    return SHUTDOWN_BY_SIGNAL;
}

/* Print the address for the program that has started hoopd. A failed write is
 * reported at the exit. */
static void
listen_address_print(const char *address)
{
    printf("%s\n", address);
    fflush(stdout);
}

static void
shutdown_reason_log(enum end end, int number)
{
    if (end == SHUTDOWN_BY_SIGNAL)
        log_info("coordinator", "SIG%s: draining", sigabbrev_np(number));
    else
        log_info("coordinator", "no member is left: draining");
}

/* Give each large allocation a mapping of its own, which returns to the system
 * when it is freed. By default the allocator raises the threshold after the
 * first such free, and the process keeps the memory that a few clients used. */
static void
malloc_set_mmap_threshold(void)
{
    mallopt(M_MMAP_THRESHOLD, MALLOC_MMAP_THRESHOLD_BYTES);
}

static int
serve(const struct options *options)
{
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *coordinator = NULL;
    sigset_t ending;
    int number = 0;

    shutdown_signals_block(&ending);
    fault_handlers_install();
    descriptor_limit_raise();
    malloc_set_mmap_threshold();
    if (coordinator_start_or_stand_by(options, &ending, &coordinator,
                                      &number) != HOOP_OK) {
        log_error("coordinator", "cannot start: %s",
                  hoop_coordinator_error_text());
        return EXIT_FAILURE;
    }
    if (!coordinator) {
        log_info("coordinator", "SIG%s: standing by no longer",
                 sigabbrev_np(number));
        return EXIT_SUCCESS;
    }

    const char *http_list = hoop_coordinator_http_address(coordinator);
    char address[2 * LIMIT_ADDRESS];
    char http[2 * LIMIT_ADDRESS];

    address_list_spell_out(hoop_coordinator_address(coordinator), address,
                           sizeof(address));
    address_list_spell_out(http_list ? http_list : "nothing", http,
                           sizeof(http));
    log_info("coordinator",
             "hoopd %s serves workers on %s, http on %s, %s%s, %s",
             version_text, address, http,
             options->coordinator.token ? "one token for every job"
                                        : "no token is asked for",
             strcmp(options->coordinator.tls, "on") == 0 ? ", under TLS" : "",
             durability_describe(&options->coordinator));
    insecure_exposure_warn(&options->coordinator);
    if (options->until_empty_s > 0)
        listen_address_print(hoop_coordinator_address(coordinator));
    const enum end end = shutdown_wait(coordinator, options, &ending, &number);
    if (end == SHUTDOWN_REPLACED) {
        /* Exit with success, so that a supervisor does not start this hoopd
         * again: it would displace the one that has displaced it. */
        log_error("coordinator", "another hoopd uses the data: this one ends");
        return EXIT_SUCCESS;
    }
    shutdown_reason_log(end, number);
    hoop_coordinator_stop(coordinator);
    log_info("coordinator", "stopped");
    return EXIT_SUCCESS;
}

static int
check(const struct options *options)
{
    if (coordinator_probe_run(options->check, &options->coordinator) ==
        HOOP_OK) {
        printf("%s serves\n", options->check);
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "hoopd: %s does not serve: %s\n", options->check,
            error_text());
    return EXIT_FAILURE;
}

static int
repair(const struct options *options)
{
    if (repair_run(options->coordinator.data_dir, stdout) == HOOP_OK)
        return EXIT_SUCCESS;
    fprintf(stderr, "hoopd: cannot repair %s: %s\n",
            options->coordinator.data_dir, error_text());
    return EXIT_FAILURE;
}

/* Exit with failure if standard output could not be written. */
static void
stdout_close_checked(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout) &&
        (fclose(stdout) == 0 || errno == EBADF))
        return;
    fprintf(stderr, "hoopd: cannot write standard output: %s\n",
            strerror(errno));
    _exit(EXIT_FAILURE);
}

int
main(int argc, char **argv)
{
    CLEANUP(options_deinit) struct options options;

    log_set_name("hoopd");
    atexit(stdout_close_checked);
    if (options_init(argc, argv, &options) != HOOP_OK) {
        fprintf(stderr, "hoopd: %s\n", error_text());
        return OPTIONS_EXIT_USAGE;
    }
    if (options.task == OPTIONS_TASK_SERVE && options.log_level >= LOG_WARNING)
        spelling_warn();
    switch (options.task) {
    case OPTIONS_TASK_SERVE:
        return serve(&options);
    case OPTIONS_TASK_REPAIR:
        return repair(&options);
    case OPTIONS_TASK_CHECK:
        return check(&options);
    }
    return EXIT_FAILURE;
}
