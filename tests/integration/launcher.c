/* tests/integration/launcher.c - runs of hooprun with shells as workers */

#include "integration/launcher.h"

#include "check.h"

const char *launcher;

const char *const launcher_three[] = {"-n", "3", NULL};

struct program *
launcher_start(const char *const *options, const char *script)
{
    const char *arguments[PROGRAM_ARGUMENTS_MAX] = {launcher};
    size_t n = 1;

    for (size_t i = 0; options[i]; i++) {
        assert_true(n + 4 < PROGRAM_ARGUMENTS_MAX);
        arguments[n++] = options[i];
    }
    arguments[n++] = "sh";
    arguments[n++] = "-c";
    arguments[n++] = script;
    return program_start(arguments, NULL);
}

int
launcher_code(void **state, const char *const *options, const char *script)
{
    struct program *program = launcher_start(options, script);

    *state = program;
    return program_wait(program);
}

const char *
out_of(void **state)
{
    return ((struct program *)*state)->out.text;
}

const char *
err_of(void **state)
{
    return ((struct program *)*state)->err.text;
}
