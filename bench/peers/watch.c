/*
 * bench/peers/watch.c - observes whether two processors are near each other
 *
 * Usage: watch FILE NS. It runs until it or its parent ends. Forty times a
 * second it measures the round trip of a cache line between the first two
 * processors, and records in the file (bench/peers/watch.h) whether it takes
 * more than FAR_FACTOR times as long as the least so far, which NS says from
 * earlier runs in nanoseconds (0: unknown). If a hypervisor moves virtual
 * processors, the state may change several times a second, so that a
 * measurement before and after a program says little about the time in between.
 *
 * It preempts what is being measured, for about 30 us in 25 ms, or 100 us if
 * the processors are far from each other. It therefore needs the right to
 * real-time priority, and two processors. Without them it exits at once.
 */

#include "watch.h"

#include <math.h>
#include <signal.h>
#include <sys/prctl.h>

#include "line.h"

enum {
    SAMPLES = 2, /* the smaller one counts */
    TRIPS = 60,
    PAUSE_NS = 25000000,
    FAR_FACTOR = 3, /* of a processor's own caches; others are 5 times as far */
};

/* A process with this priority that spins for a trip that never comes would
 * block everything else. So both processes end when either of them or the
 * parent of the first one ends. */
static void
die_with_parent(void)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        plain_fail("prctl");
}

static void
die_with_child(int number)
{
    (void)number;
    _exit(1);
}

static void
come_first(void)
{
    const struct sched_param priority = {.sched_priority = 1};

    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
        plain_fail("sched_setscheduler");
}

/* Echoes the trips of one measurement for each byte read, until the other end
 * of the pipe is closed. */
static void
answer(struct line *line, int calls)
{
    unsigned first = 1;
    char call;

    while (read(calls, &call, 1) == 1) {
        line_echo(line, first, SAMPLES * TRIPS);
        first += SAMPLES * TRIPS;
    }
}

static int
answerer_start(struct line *line)
{
    const pid_t parent = getpid();
    int calls[2];

    if (pipe(calls) != 0)
        plain_fail("pipe");
    const pid_t pid = fork();
    if (pid < 0)
        plain_fail("fork");
    if (pid == 0) {
        close(calls[1]);
        die_with_parent();
        if (getppid() != parent)
            exit(1);
        line_stay_on(1);
        come_first();
        answer(line, calls[0]);
        exit(0);
    }
    close(calls[0]);
    return calls[1];
}

static double
distance_ns(struct line *line, int calls, unsigned first)
{
    double least_ns = INFINITY;

    if (write(calls, "", 1) != 1)
        plain_fail("write");
    for (unsigned i = 0; i < SAMPLES; i++)
        least_ns = fmin(least_ns, line_time_ns(line, first + i * TRIPS, TRIPS));
    return least_ns;
}

static struct watch *
watch_make(const char *path)
{
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (file < 0 || ftruncate(file, sizeof(struct watch)) != 0)
        plain_fail(path);
    void *watch = mmap(NULL, sizeof(struct watch), PROT_READ | PROT_WRITE,
                       MAP_SHARED, file, 0);
    if (watch == MAP_FAILED)
        plain_fail(path);
    close(file);
    return watch;
}

int
main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    if (argc != 3)
        return fprintf(stderr, "usage: watch FILE NS\n"), 64;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return fprintf(stderr, "one processor is near itself\n"), 1;
    die_with_parent();
    signal(SIGCHLD, die_with_child);
    double least_ns = atof(argv[2]) > 0 ? atof(argv[2]) : INFINITY;
    struct watch *watch = watch_make(argv[1]);
    struct line *line = plain_map(sizeof(*line), MAP_SHARED);
    const int calls = answerer_start(line);
    line_stay_on(0);
    come_first();
    for (unsigned first = 1;; first += SAMPLES * TRIPS) {
        const double ns = distance_ns(line, calls, first);

        least_ns = fmin(least_ns, ns);
        watch->nearest_ns = (uint32_t)ceil(least_ns);
        const uint32_t state =
            ns > FAR_FACTOR * least_ns ? WATCH_FAR : WATCH_NEAR;
        if (state != watch->state) {
            __atomic_store_n(&watch->state, state, __ATOMIC_RELEASE);
            __atomic_add_fetch(&watch->n_changes, 1, __ATOMIC_ACQ_REL);
        }
        nanosleep(&pause, NULL);
    }
}
