/* tests/unit/examples/train_3d/alone.h - a session of one rank, for a group */

#ifndef TESTS_ALONE_H
#define TESTS_ALONE_H

#include "hoop/hoop.h"

/* These are fixtures for cmocka_run_group_tests(). */
int
alone_setup(void **state);
int
alone_teardown(void **state);

/* Returns the communicator of this one rank, which stands for all groups. */
hoop_comm_t *
alone_comm(void **state);

#endif
