/* tests/unit/worker/transport/shm/cma_test.c - transport/shm/cma.c */

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "check.h"
#include "child.h"
#include "transport/shm/cma.h"

enum {
    PAGE = 4096,
    N_BYTES = 3 * PAGE + 17, /* not whole pages */
    NOBODY = 65534,
};

/* What the child below has, at the same place in this process. */
static struct cma_cookie word;
static uint8_t bytes[N_BYTES];

static uint64_t
address_of(const void *place)
{
    return (uint64_t)(uintptr_t)place;
}

/* Offers its word, and holds until it is killed. */
static struct cma_process
child_offer(pid_t *out_pid)
{
    struct cma_process other = {0};
    int pipe_fds[2];

    assert_int_equal(pipe(pipe_fds), 0);
    *out_pid = child_fork();
    assert_true(*out_pid >= 0);
    if (*out_pid == 0) {
        struct cma_address place;

        memset(bytes, 'x', N_BYTES);
        if (cma_export_address(&word, &place) == HOOP_OK &&
            write(pipe_fds[1], &place, sizeof(place)) == sizeof(place))
            pause();
        _exit(1);
    }
    assert_int_equal(read(pipe_fds[0], &other.place, sizeof(other.place)),
                     sizeof(other.place));
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    other.pid = (uint32_t)*out_pid;
    return other;
}

static void
child_end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
bytes_of_another_process_are_read(void **state)
{
    uint8_t copy[N_BYTES] = {0};
    pid_t pid;
    const struct cma_process other = child_offer(&pid);

    assert_ok(cma_read(&other, 0, NULL, 0));
    assert_ok(cma_read(&other, address_of(bytes), copy, N_BYTES));
    assert_int_equal(copy[0], 'x');
    assert_int_equal(copy[N_BYTES - 1], 'x');
    assert_int_equal(bytes[0], 0);
    child_end(pid);
}

static void
process_that_ended_is_lost(void **state)
{
    uint8_t copy[N_BYTES];
    pid_t pid;
    const struct cma_process other = child_offer(&pid);

    child_end(pid);
    assert_int_equal(cma_read(&other, address_of(bytes), copy, N_BYTES),
                     HOOP_E_PEER_LOST);
}

/* Its pid was given to another process. */
static void
process_with_another_word_is_lost(void **state)
{
    uint8_t copy[N_BYTES];
    pid_t pid;
    struct cma_process other = child_offer(&pid);

    other.place.word++;
    assert_int_equal(cma_read(&other, 0, NULL, 0), HOOP_E_PEER_LOST);
    assert_int_equal(cma_read(&other, address_of(bytes), copy, N_BYTES),
                     HOOP_E_PEER_LOST);
    child_end(pid);
}

static void
address_of_nothing_is_refused(void **state)
{
    uint8_t copy[2 * PAGE];
    pid_t pid;
    uint8_t *there = mmap(NULL, sizeof(copy), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(there, MAP_FAILED);
    memset(there, 1, sizeof(copy));
    assert_int_equal(munmap(there + PAGE, PAGE), 0);
    const struct cma_process other = child_offer(&pid);
    assert_ok(cma_read(&other, address_of(there), copy, PAGE));
    /* Half of it. */
    assert_int_equal(cma_read(&other, address_of(there), copy, 2 * PAGE),
                     HOOP_E_DATA_LOSS);
    assert_int_equal(cma_read(&other, address_of(there + PAGE), copy, PAGE),
                     HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "HOOP_CMA=off"));
    child_end(pid);
    munmap(there, PAGE);
}

/* The first process is root's, everywhere. */
static int
reads_of_the_first(void)
{
    const struct cma_process other = {.pid = 1};
    uint8_t copy[8];

    if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0)
        return 2;
    return cma_read(&other, 4096, copy, sizeof(copy)) != HOOP_E_UNAVAILABLE ||
           !strstr(error_text(), "must not be read");
}

static void
process_of_another_user_is_refused(void **state)
{
    int status;
    const pid_t pid = child_fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(reads_of_the_first());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_another_process_are_read),
        cmocka_unit_test(process_that_ended_is_lost),
        cmocka_unit_test(process_with_another_word_is_lost),
        cmocka_unit_test(address_of_nothing_is_refused),
        cmocka_unit_test(process_of_another_user_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
