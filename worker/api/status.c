/*
 * api/status.c - the public calls that tell of a failure
 *
 * A library of its own, so that a program that needs only the model can say
 * what went wrong, too.
 */

#include "hoop/status.h"

#include "base/error.h"

const char *
hoop_status_name(enum hoop_status status)
{
    return status_name(status);
}

const char *
hoop_error_text(void)
{
    return error_text();
}

const char *
hoop_error_path(void)
{
    return error_call_path();
}

const struct hoop_failure *
hoop_error_failure(void)
{
    return error_failure_details();
}
