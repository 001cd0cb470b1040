/* tests/unit/common/net/host_ranks_test.c - net/path.c */

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "net/path.h"
#include "net/socket.h"

enum {
    MANY = 20
};

/* Others may come and go meanwhile: only a bound is certain. */
static void
headcount_counts_who_entered(void **state)
{
    int fds[MANY];

    for (unsigned i = 0; i < MANY; i++)
        assert_true((fds[i] = host_ranks_register()) >= 0);
    assert_true(host_ranks_count() >= MANY);
    for (unsigned i = 0; i < MANY; i++)
        socket_close(fds[i]);
}

/* In a namespace of its own a process would see itself alone. */
static void
headcount_enter_counts_a_process_until_it_ends(void **state)
{
    int entered[2];
    char said;

    const int fd = host_ranks_register();
    assert_true(fd >= 0);
    assert_int_equal(pipe(entered), 0);
    const pid_t child = fork();
    if (child == 0) {
        const char is_in =
            host_ranks_register() >= 0 && host_ranks_count() >= 2;

        _exit(write(entered[1], &is_in, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(read(entered[0], &said, 1), 1);
    assert_int_equal(said, 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(host_ranks_count() >= 1);
    close(entered[0]);
    close(entered[1]);
    socket_close(fd);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(headcount_counts_who_entered),
        cmocka_unit_test(headcount_enter_counts_a_process_until_it_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
