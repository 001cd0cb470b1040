/*
 * hooprun/worker.c - starts worker processes: fork, prepare, exec
 *
 * A worker leads a process group, so that what it starts is ended with it. The
 * exception is rank 0 on a terminal: only the terminal's foreground group may
 * read it, so rank 0 stays in hooprun's group.
 */

#include "hooprun/worker.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooprun/outcome.h"

struct pipes {
    int out[2];
    int err[2];
    int failure; /* shared by all workers started together; closed by exec */
};

/* What of a child may fail before the program runs. */
enum exec_step {
    EXEC_STEP_CHDIR,
    EXEC_STEP_EXEC,
};

/* What a child writes to it if exec fails. */
struct exec_failure {
    enum exec_step step;
    int error;
};

static void
pair_close(int pair[static 2])
{
    if (pair[0] >= 0)
        close(pair[0]);
    if (pair[1] >= 0)
        close(pair[1]);
    pair[0] = pair[1] = -1;
}

static void
pipes_close(struct pipes *pipes)
{
    pair_close(pipes->out);
    pair_close(pipes->err);
}

static bool
pipes_open(struct pipes *pipes, int failure, enum output_style style)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, failure};
    if (style == OUTPUT_VERBATIM)
        return true;
    return pipe2(pipes->out, O_CLOEXEC) == 0 &&
           pipe2(pipes->err, O_CLOEXEC) == 0;
}

static void
number_set(const char *name, uint32_t value)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", value);
    setenv(name, text, 1);
}

/* The node of a rank by the options; the last node may have fewer ranks. */
static struct worker_node
node_of(const struct options *options, uint32_t rank)
{
    const uint32_t n = options->n_workers;
    const uint32_t n_nodes = options->n_nodes > 0 ? options->n_nodes : 1;
    const uint32_t n_each = (n + n_nodes - 1) / n_nodes;
    const uint32_t first = rank - rank % n_each;

    return (struct worker_node){
        .number = rank / n_each,
        .n_nodes = (n + n_each - 1) / n_each,
        .first_rank = first,
        .n_ranks = n - first < n_each ? n - first : n_each,
    };
}

static void
node_set(uint32_t number)
{
    char host[HOST_NAME_MAX + 1] = "";
    char node[HOST_NAME_MAX + 16];

    gethostname(host, sizeof(host) - 1);
    snprintf(node, sizeof(node), "%s/%u", host, number);
    setenv("HOOP_NODE", node, 1);
}

/* Set the variables of torchrun and mpirun that programs read. */
static void
others_set(const struct worker_setup *setup,
           uint32_t rank,
           const struct worker_node *node)
{
    const uint32_t n_workers = setup->options->n_workers;
    const struct {
        const char *torchrun;
        const char *open_mpi;
        uint32_t value;
    } numbers[] = {
        {"RANK", "OMPI_COMM_WORLD_RANK", rank},
        {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", n_workers},
        {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", rank - node->first_rank},
        {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", node->n_ranks},
        {"GROUP_RANK", NULL, node->number},
        {"GROUP_WORLD_SIZE", NULL, node->n_nodes},
        {"TORCHELASTIC_RESTART_COUNT", NULL, setup->n_restarts},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        number_set(numbers[i].torchrun, numbers[i].value);
        if (numbers[i].open_mpi)
            number_set(numbers[i].open_mpi, numbers[i].value);
    }
    setenv("MASTER_ADDR", setup->master_address, 1);
    setenv("MASTER_PORT", setup->master_port, 1);
    /* As torchrun does; otherwise each would use all processors. */
    if (n_workers > 1)
        setenv("OMP_NUM_THREADS", "1", 0);
}

static void
environment_set(const struct worker_setup *setup, uint32_t rank)
{
    const struct worker_node node =
        setup->node ? *setup->node : node_of(setup->options, rank);

    setenv("HOOP_COORDINATOR", setup->coordinator, 1);
    setenv("HOOP_JOB", setup->options->job, 1);
    if (setup->token)
        setenv("HOOP_TOKEN", setup->token, 1);
    if (setup->endings[0])
        setenv("HOOP_ENDINGS", setup->endings, 1);
    if (setup->records[0])
        setenv("HOOP_RECORDER_DIR", setup->records, 1);
    number_set("HOOP_RANK", rank);
    number_set("HOOP_LOCAL_RANK", rank - node.first_rank);
    if (setup->options->n_nodes > 0)
        node_set(node.number);
    number_set("HOOP_WORLD_SIZE", setup->options->n_workers);
    if (setup->has_terminal && rank == 0)
        setenv("HOOP_PROGRESS", "1", 0);
    others_set(setup, rank, &node);
}

static void
descriptors_set(const struct pipes *pipes, uint32_t rank, int input_fd)
{
    if (rank == 0 && input_fd >= 0)
        dup2(input_fd, STDIN_FILENO);
    if (rank != 0) {
        const int null = open("/dev/null", O_RDONLY);
        if (null >= 0)
            dup2(null, STDIN_FILENO);
        if (null > STDERR_FILENO)
            close(null);
    }
    if (pipes->out[1] >= 0)
        dup2(pipes->out[1], STDOUT_FILENO);
    if (pipes->err[1] >= 0)
        dup2(pipes->err[1], STDERR_FILENO);
}

static bool
group_wanted(uint32_t rank)
{
    return rank != 0 || !isatty(STDIN_FILENO);
}

/* Runs in the child. Does not return. */
static void
exec_fail(const struct pipes *pipes, enum exec_step step)
{
    const struct exec_failure failure = {step, errno};

    if (write(pipes->failure, &failure, sizeof(failure)) < 0)
        _exit(EXIT_FAILURE);
    _exit(OUTCOME_EXIT_NOT_FOUND);
}

/* Runs in the child. Does not return. */
static void
worker_become(const struct worker_setup *setup,
              uint32_t rank,
              const struct pipes *pipes,
              pid_t parent)
{
    setpgid(0, group_wanted(rank) ? 0 : setup->front->group);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);

    if (setup->options->folder && chdir(setup->options->folder) != 0)
        exec_fail(pipes, EXEC_STEP_CHDIR);
    environment_set(setup, rank);
    descriptors_set(pipes, rank, setup->input_fd);
    /* Shells make their background processes ignore these two, since the
     * terminal's signals are not for them. hooprun passes on the right ones. */
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    signal(SIGXFSZ, setup->xfsz_action);
    sigprocmask(SIG_SETMASK, setup->old_mask, NULL);
    execvp(setup->options->command[0], setup->options->command);
    exec_fail(pipes, EXEC_STEP_EXEC);
}

static enum hoop_status
exec_refused(const struct options *options, const struct exec_failure *failure)
{
    const char *advice = "is the path right?";
    const int error = failure->error;

    if (failure->step == EXEC_STEP_CHDIR) {
        warnx("cannot enter %s (--wdir): %s", options->folder, strerror(error));
        return HOOP_E_DENIED;
    }
    if (error == EACCES || error == ENOEXEC)
        advice = "is it an executable file?";
    warnx("cannot run '%s': %s; %s", options->command[0], strerror(error),
          advice);
    return error == ENOENT ? HOOP_E_NOT_FOUND : HOOP_E_DENIED;
}

static enum hoop_status
worker_fork(const struct worker_setup *setup,
            uint32_t rank,
            int failure,
            struct worker *out_worker)
{
    const pid_t parent = getpid();
    struct pipes pipes;

    if (!pipes_open(&pipes, failure, setup->options->style)) {
        warn("no pipes for rank %u; use fewer workers or raise ulimit -n",
             rank);
        pipes_close(&pipes);
        return HOOP_E_EXHAUSTED;
    }
    const pid_t pid = fork();
    if (pid < 0) {
        warn("cannot fork rank %u; use fewer workers or raise ulimit -u", rank);
        pipes_close(&pipes);
        return HOOP_E_EXHAUSTED;
    }
    if (pid == 0)
        worker_become(setup, rank, &pipes, parent);

    *out_worker = (struct worker){
        .rank = rank,
        .pid = pid,
        .is_running = true,
        .has_group = group_wanted(rank),
        .out_fd = pipes.out[0],
        .err_fd = pipes.err[0],
    };
    pipes.out[0] = pipes.err[0] = -1;
    pipes_close(&pipes);
    return HOOP_OK;
}

/* Wait until all forked children have executed the program, or have ended. */
static enum hoop_status
exec_await(const struct worker_setup *setup, int fd)
{
    struct exec_failure failure;
    enum hoop_status status = HOOP_OK;
    ssize_t n = 0;

    do {
        n = read(fd, &failure, sizeof(failure));
        if (n == (ssize_t)sizeof(failure) && status == HOOP_OK)
            status = exec_refused(setup->options, &failure);
    } while (n > 0 || (n < 0 && errno == EINTR));
    return status;
}

/* Do not wait for one exec before the next fork: on a busy host the first
 * workers would wait for the last ones. */
static enum hoop_status
workers_fork(const struct worker_setup *setup,
             uint32_t first_rank,
             uint32_t n_workers,
             struct worker *workers,
             uint32_t *n_started)
{
    enum hoop_status status = HOOP_OK;
    int failure[2];

    if (pipe2(failure, O_CLOEXEC) != 0) {
        warn("no pipe for rank %u; raise ulimit -n", first_rank);
        return HOOP_E_EXHAUSTED;
    }
    for (uint32_t i = 0; i < n_workers; i++) {
        status = worker_fork(setup, first_rank + i, failure[1], &workers[i]);
        if (status != HOOP_OK)
            break;
        ends_add(setup->ends, workers[i].rank, workers[i].pid);
        ++*n_started;
    }
    close(failure[1]);
    const enum hoop_status executed = exec_await(setup, failure[0]);
    close(failure[0]);
    return status == HOOP_OK ? executed : status;
}

enum hoop_status
workers_start(const struct worker_setup *setup,
              uint32_t first_rank,
              uint32_t n_workers,
              struct worker *workers,
              uint32_t *out_n_started)
{
    *out_n_started = 0;
    if (n_workers == 0)
        return HOOP_OK;
    enum hoop_status status =
        workers_fork(setup, first_rank, 1, workers, out_n_started);
    if (status == HOOP_OK)
        status = workers_fork(setup, first_rank + 1, n_workers - 1, workers + 1,
                              out_n_started);
    return status;
}

void
worker_signal(const struct worker *worker, int signal_number)
{
    kill(worker->has_group ? -worker->pid : worker->pid, signal_number);
}
