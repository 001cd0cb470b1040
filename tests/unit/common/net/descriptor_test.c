/* tests/unit/common/net/descriptor_test.c - which descriptors are ours */

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "net/wakeup.h"

static int
is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void
descriptor_close_all_closes_what_is_tracked(void **state)
{
    const int ours = dup(1);
    const int users = dup(1);
    const int high = fcntl(1, F_DUPFD, 700);

    descriptor_track(ours);
    descriptor_track(high);
    descriptor_lock();
    descriptor_close_all();
    descriptor_unlock();
    assert_false(is_open(ours));
    assert_false(is_open(high));
    assert_true(is_open(users));
    close(users);
}

static void
descriptor_that_is_closed_is_not_ours_any_more(void **state)
{
    const int ours = dup(1);

    descriptor_track(ours);
    descriptor_close(ours);
    assert_false(is_open(ours));

    const int users = dup(1);
    assert_int_equal(users, ours);
    descriptor_lock();
    descriptor_close_all();
    descriptor_unlock();
    assert_true(is_open(users));
    close(users);
}

static void
descriptor_none_is_fine(void **state)
{
    descriptor_track(-1);
    descriptor_close(-1);
    descriptor_close(fcntl(1, F_DUPFD, 900));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptor_close_all_closes_what_is_tracked),
        cmocka_unit_test(descriptor_that_is_closed_is_not_ours_any_more),
        cmocka_unit_test(descriptor_none_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
