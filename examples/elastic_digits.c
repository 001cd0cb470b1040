/*
 * examples/elastic_digits.c - a training that loses two of its four workers
 *
 *   hoopd &
 *   HOOP_COORDINATOR=localhost:4667 elastic_digits [--calm] [SEED]
 *
 * The program starts four workers, kills two of them at random moments, and
 * then starts one more. The workers are in elastic_digits/elastic.c: those that
 * are left continue together, admit the new one, and give it the weights. With
 * --calm no worker is killed, and the accuracy is the same.
 */

#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elastic_digits/elastic.h"
#include "train_digits/random.h"

enum {
    WORKERS = 4,
    DEATHS = 2,
    POLL_US = 500,
};

static pid_t
worker_start(struct board *board)
{
    fflush(stdout);
    const pid_t pid = fork();

    if (pid < 0)
        err(EXIT_FAILURE, "cannot start a worker");
    if (pid != 0)
        return pid;
    const int code = elastic_train(board, WORKERS);
    if (code != EXIT_SUCCESS)
        board->has_ended = true;
    exit(code);
}

/* The first worker is killed between one and three eighths of the steps, and
 * the second between three and five eighths. */
static uint64_t
death_choose(struct random *random, int number)
{
    const size_t quarter = ELASTIC_STEPS / 4;

    return quarter * (size_t)(2 * number + 1) / 2 +
           random_below(random, quarter);
}

static void
step_await(const struct board *board, uint64_t step)
{
    while (board->step < step && !board->has_ended)
        usleep(POLL_US);
}

/* A worker that joins before the coordinator knows of a death is refused, since
 * the job is full. */
static void
loss_await(const struct board *board, uint32_t n_left)
{
    while (board->n_left != n_left && !board->has_ended)
        usleep(POLL_US);
}

/* Kill a worker, and a second one when the others have continued without the
 * first. Then start another worker, unless the training has ended before.
 * Returns how many workers have been started. */
static int
disturb(struct board *board, pid_t *pids, uint64_t seed)
{
    struct random random = {seed};
    size_t victims[WORKERS];

    for (size_t i = 0; i < WORKERS; i++)
        victims[i] = i;
    random_shuffle(&random, victims, WORKERS);
    for (int i = 0; i < DEATHS; i++) {
        const pid_t victim = pids[victims[i]];

        step_await(board, death_choose(&random, i));
        if (board->has_ended)
            return WORKERS;
        printf("*** worker %d is killed at step %llu of %d\n", (int)victim,
               (unsigned long long)board->step, ELASTIC_STEPS);
        fflush(stdout);
        kill(victim, SIGKILL);
        loss_await(board, (uint32_t)(WORKERS - 1 - i));
    }
    pids[WORKERS] = worker_start(board);
    printf("*** worker %d is sent\n", (int)pids[WORKERS]);
    fflush(stdout);
    return WORKERS + 1;
}

/* Return whether all workers that were not killed have ended well. */
static bool
workers_wait(const pid_t *pids, int n_workers)
{
    bool is_good = true;

    for (int i = 0; i < n_workers; i++) {
        int how = 0;

        while (waitpid(pids[i], &how, 0) < 0 && errno == EINTR)
            continue;
        is_good &= WIFSIGNALED(how) ? WTERMSIG(how) == SIGKILL
                                    : WEXITSTATUS(how) == EXIT_SUCCESS;
    }
    return is_good;
}

int
main(int argc, char **argv)
{
    const bool is_calm = argc > 1 && strcmp(argv[1], "--calm") == 0;
    const char *seed = argc > 1 + is_calm ? argv[1 + is_calm] : "1";
    pid_t pids[WORKERS + 1];
    int n_workers = WORKERS;

    if (!getenv("HOOP_COORDINATOR"))
        errx(EXIT_FAILURE, "which coordinator? Start hoopd, and set "
                           "HOOP_COORDINATOR=host:port");
    struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        err(EXIT_FAILURE, "no memory");
    for (int i = 0; i < WORKERS; i++)
        pids[i] = worker_start(board);
    if (!is_calm)
        n_workers = disturb(board, pids, strtoull(seed, NULL, 10));
    const bool is_good = workers_wait(pids, n_workers) && board->has_ended;

    munmap(board, sizeof(*board));
    return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
