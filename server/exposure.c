/* exposure.c - where a coordinator may listen */

#include "exposure.h"

#include <string.h>

#include "base/error.h"
#include "net/address.h"

static bool
option_is_on(const char *text)
{
    return text && strcmp(text, "on") == 0;
}

bool
exposure_has_authentication(const struct hoop_coordinator_options *options)
{
    const bool has_token = options->token && options->token[0];

    return has_token || (option_is_on(options->tls) && options->tls_ca);
}

bool
exposure_is_insecure_open(const struct hoop_coordinator_options *options)
{
    return option_is_on(options->insecure_open);
}

static enum hoop_status
listen_require_loopback(const char *text)
{
    struct address_list list;

    const enum hoop_status status = address_resolve_listen(text, &list);
    if (status != HOOP_OK)
        return error_pass(status);
    if (address_list_is_loopback(&list))
        return HOOP_OK;
    return error_raise(HOOP_E_DENIED,
                       "there is no token, and other hosts reach %s: set "
                       "HOOP_TOKEN or HOOP_TOKEN_FILE (--token-file), listen "
                       "on localhost, or set HOOP_INSECURE_OPEN=1 "
                       "(--insecure-open) to let anybody join",
                       text);
}

enum hoop_status
exposure_check_options(const struct hoop_coordinator_options *options)
{
    if (options->insecure_open && !option_is_on(options->insecure_open) &&
        strcmp(options->insecure_open, "off") != 0)
        return error_raise(HOOP_E_INVALID,
                           "insecure_open of the coordinator is on or off, "
                           "not '%s'",
                           options->insecure_open);
    if (exposure_has_authentication(options) ||
        exposure_is_insecure_open(options))
        return HOOP_OK;
    enum hoop_status status = listen_require_loopback(options->listen);
    if (status == HOOP_OK && options->http)
        status = listen_require_loopback(options->http);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
