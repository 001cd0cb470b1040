/* tests/unit/worker/session/launcher_test.c - rank and size by launchers */

#include <string.h>

#include "check.h"
#include "session/launcher.h"

/* "A=1 B=2" as an environment. */
static const char *
lookup(void *owner, const char *name)
{
    static char value[32];
    const char *at = owner;
    const size_t n_name = strlen(name);

    while (at && *at) {
        if (strncmp(at, name, n_name) == 0 && at[n_name] == '=') {
            const size_t n_value = strcspn(at + n_name + 1, " ");

            memcpy(value, at + n_name + 1, n_value);
            value[n_value] = '\0';
            return value;
        }
        at = strchr(at, ' ');
        at += at ? 1 : 0;
    }
    return NULL;
}

static void
expect(const char *environment, const char *name, uint32_t rank, uint32_t size)
{
    struct launcher found;

    assert_true(
        launcher_detect(lookup, (void *)(uintptr_t)environment, &found));
    assert_string_equal(found.name, name);
    assert_int_equal(found.rank, rank);
    assert_int_equal(found.size, size);
}

static void
expect_none(const char *environment)
{
    struct launcher found;

    assert_false(
        launcher_detect(lookup, (void *)(uintptr_t)environment, &found));
}

static void
launcher_each_is_known(void **state)
{
    (void)state;
    expect("SLURM_PROCID=3 SLURM_NTASKS=4", "Slurm", 3, 4);
    expect("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1", "Open MPI", 0, 1);
    expect("PMI_RANK=7 PMI_SIZE=64", "PMI", 7, 64);
    expect("RANK=1 WORLD_SIZE=2", "torchrun", 1, 2);
    expect("PMI_SIZE=65536 PMI_RANK=65535", "PMI", 65535, 65536);
    /* For the caller to refuse. */
    expect("RANK=4 WORLD_SIZE=4", "torchrun", 4, 4);
}

static void
launcher_innermost_wins(void **state)
{
    (void)state;
    expect("SLURM_PROCID=0 SLURM_NTASKS=2 PMI_RANK=1 PMI_SIZE=4", "PMI", 1, 4);
    expect("PMI_RANK=1 PMI_SIZE=4 OMPI_COMM_WORLD_RANK=2 "
           "OMPI_COMM_WORLD_SIZE=3",
           "Open MPI", 2, 3);
    expect("SLURM_PROCID=0 SLURM_NTASKS=2 RANK=5 WORLD_SIZE=8", "torchrun", 5,
           8);
}

static void
launcher_half_or_wrong_is_passed_over(void **state)
{
    (void)state;
    expect_none("");
    expect_none("RANK=1");
    expect_none("WORLD_SIZE=4");
    expect_none("RANK=-1 WORLD_SIZE=4");
    expect_none("RANK=+1 WORLD_SIZE=4");
    expect_none("RANK=1x WORLD_SIZE=4");
    expect_none("RANK= WORLD_SIZE=4");
    expect_none("RANK=0 WORLD_SIZE=65537");
    expect_none("RANK=0 WORLD_SIZE=99999999999999999999");
    expect("RANK=x WORLD_SIZE=4 PMI_RANK=1 PMI_SIZE=4", "PMI", 1, 4);
}

static void
launcher_tells_the_number_on_the_host(void **state)
{
    const struct {
        const char *environment;
        uint32_t local_rank;
    } rows[] = {
        {"LOCAL_RANK=3 SLURM_LOCALID=0", 3},
        {"OMPI_COMM_WORLD_LOCAL_RANK=8", 8},
        {"MPI_LOCALRANKID=1", 1},
        {"LOCAL_RANK=x SLURM_LOCALID=5", 5},
    };
    uint32_t found;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *environment = (void *)(uintptr_t)rows[i].environment;

        assert_true(launcher_local_rank(lookup, environment, &found));
        assert_int_equal(found, rows[i].local_rank);
    }
    assert_false(
        launcher_local_rank(lookup, (void *)(uintptr_t) "RANK=1", &found));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launcher_each_is_known),
        cmocka_unit_test(launcher_innermost_wins),
        cmocka_unit_test(launcher_half_or_wrong_is_passed_over),
        cmocka_unit_test(launcher_tells_the_number_on_the_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
