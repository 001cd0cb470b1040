/* hooprun/main.c - N workers on this machine as one hoop job */

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hooprun/agent.h"
#include "hooprun/crew.h"
#include "hooprun/keeper.h"
#include "hooprun/options.h"
#include "hooprun/output.h"
#include "standard_output.h"

enum {
    DESCRIPTORS_OTHER = 64, /* hooprun's own, generously */
};

/* Two pipes, a process and a file for each worker may pass the usual soft limit of 1024. */
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

/* Reserve the standard descriptors that are closed, so that nothing else gets
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

static int
run_with_keeper(struct worker_setup *setup, struct outcome *out_outcome)
{
    char token[KEEPER_TOKEN_MAX];
    struct keeper keeper = {0};

    if (keeper_token(token) != HOOP_OK)
        return EXIT_FAILURE;
    if (keeper_start(token, &keeper) != HOOP_OK)
        return EXIT_FAILURE;
    setup->coordinator = keeper.address;
    setup->token = token;
    const int code = crew_run(setup, &keeper, out_outcome);
    keeper_stop(&keeper);
    return code;
}

/* One that nobody has now; 0: there is none. */
static uint16_t
port_find(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t n_bytes = sizeof(address);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, n_bytes) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &n_bytes) != 0)
        address.sin_port = 0;
    if (fd >= 0)
        close(fd);
    return ntohs(address.sin_port);
}

/* A worker has failed by itself, and there is a restart left. */
static bool
restart_is_due(const struct worker_setup *setup, const struct outcome *outcome)
{
    return outcome->has_failed && !outcome->has_timed_out &&
           outcome->passed_signal == 0 &&
           setup->n_restarts < setup->options->n_restarts;
}

/* Each time with a coordinator of its own, unless there is one. */
static int
run_in_agent(void *owner, const struct agent_front *front)
{
    struct worker_setup *setup = owner;
    const struct options *options = setup->options;

    setup->front = front;
    for (;;) {
        struct outcome outcome = {0};

        setup->master_port = port_find();
        const int code = options->coordinator
                             ? crew_run(setup, NULL, &outcome)
                             : run_with_keeper(setup, &outcome);

        if (!restart_is_due(setup, &outcome))
            return code;
        setup->n_restarts++;
        warnx("starting all %u workers again: restart %u of %u",
              options->n_workers, setup->n_restarts, options->n_restarts);
    }
}

int
main(int argc, char **argv)
{
    struct options options;
    sigset_t mask;
    sigset_t old_mask;

    standard_output_check_at_exit();
    argv[0] = program_invocation_short_name;
    options_parse(argc, argv, &options);
    if (options.is_encrypted)
        setenv("HOOP_TLS", "on", 1);
    descriptors_reserve();
    descriptors_raise(options.n_workers);
    if (options.output &&
        output_prepare(options.output, options.n_workers) != HOOP_OK)
        return EXIT_FAILURE;
    crew_block(&mask, &old_mask);

    struct worker_setup setup = {
        .options = &options,
        .coordinator = options.coordinator,
        .has_terminal = isatty(STDERR_FILENO) == 1,
        .old_mask = &old_mask,
        /* Where hooprun may write no more, write() says so. */
        .xfsz_action = signal(SIGXFSZ, SIG_IGN),
    };
    return agent_run(run_in_agent, &setup, &mask);
}
