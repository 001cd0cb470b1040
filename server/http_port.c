/* http_port.c - the HTTP port of a coordinator, or of one that stands by */

#include "http_port.h"

#include <stdlib.h>
#include <string.h>

#include "hoop/coordinator.h"

#include "base/error.h"
#include "core/token.h"
#include "exposure.h"
#include "http/http.h"
#include "net/tls.h"

struct http_port {
    struct http *http;
    struct http_port_callbacks pages;
    struct token token; /* and those that are made of it */
};

static const char *
unready_text(void *owner)
{
    const struct http_port *port = owner;

    return port->pages.unready_text(port->pages.owner);
}

static void
write_metrics(void *owner, FILE *out)
{
    const struct http_port *port = owner;

    port->pages.write_metrics(port->pages.owner, out);
}

static enum role
token_role_lookup(void *owner, const char *token)
{
    const struct http_port *port = owner;

    return token_find_role(&port->token, token);
}

static enum http_audience
audience(const struct hoop_coordinator_options *options)
{
    if (options->token && options->token[0])
        return HTTP_TOKENS;
    return exposure_is_insecure_open(options) ? HTTP_ANYBODY : HTTP_THIS_HOST;
}

/* Certificate and key, those of the workers' port unless others are named.
 * *out_is_on: there is TLS at all. */
static enum hoop_status
http_tls_files_choose(const struct hoop_coordinator_options *options,
                      struct tls_files *out_files,
                      bool *out_is_on)
{
    const bool has_own = options->http_tls_cert || options->http_tls_key;

    *out_is_on = options->http_tls && strcmp(options->http_tls, "on") == 0;
    *out_files = (struct tls_files){
        .certificate = has_own ? options->http_tls_cert : options->tls_cert,
        .key = has_own ? options->http_tls_key : options->tls_key,
    };
    if (options->http_tls && !*out_is_on &&
        strcmp(options->http_tls, "off") != 0)
        return error_raise(HOOP_E_INVALID,
                           "TLS of the HTTP port is on or off, not '%s'",
                           options->http_tls);
    if (*out_is_on && (!out_files->certificate || !out_files->key))
        return error_raise(HOOP_E_INVALID,
                           "TLS of the HTTP port needs a certificate and its "
                           "key: set HOOP_HTTP_TLS_CERT and HOOP_HTTP_TLS_KEY "
                           "(--http-tls-cert, --http-tls-key), or those of the "
                           "workers' port, HOOP_TLS_CERT and HOOP_TLS_KEY");
    return HOOP_OK;
}

static enum hoop_status
http_port_start(struct http_port *port,
                const struct hoop_coordinator_options *options)
{
    struct tls_files files;
    bool is_on;

    enum hoop_status status = http_tls_files_choose(options, &files, &is_on);
    if (status == HOOP_OK && options->token)
        status = token_derive_roles(&port->token, options->token);
    if (status == HOOP_OK)
        status = http_create(
            &(struct http_options){
                .listen = options->http,
                .unready_text = unready_text,
                .write_metrics = write_metrics,
                .role_of = token_role_lookup,
                .owner = port,
                .audience = audience(options),
                .tls = is_on ? &files : NULL,
            },
            &port->http);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
http_port_open(const struct hoop_coordinator_options *options,
               const struct http_port_callbacks *pages,
               struct http_port **out_port)
{
    CLEANUP(http_port_close) struct http_port *port = NULL;

    *out_port = NULL;
    if (!options->http)
        return HOOP_OK;
    port = calloc(1, sizeof(*port));
    if (!port)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the HTTP port");
    port->pages = *pages;
    const enum hoop_status status = http_port_start(port, options);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_port = STEAL(port);
    return HOOP_OK;
}

const char *
http_port_address(const struct http_port *port)
{
    return port ? http_address(port->http) : NULL;
}

void
http_port_close(struct http_port *port)
{
    if (!port)
        return;
    http_destroy(port->http);
    explicit_bzero(&port->token, sizeof(port->token));
    free(port);
}
