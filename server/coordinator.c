/*
 * coordinator.c - the coordinator as a library: loop, service and HTTP
 *
 * One thread runs the loop, on which the service lives; the HTTP server has a
 * thread of its own. Both threads block every signal except SIGBUS and SIGSEGV,
 * because the other signals belong to the program. The file has three parts:
 * the HTTP port, the check of where a coordinator may listen, and the public
 * functions.
 */

#include "coordinator.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hoop/coordinator.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/limits.h"
#include "base/role.h"
#include "core/cluster.h"
#include "http/http.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/tls.h"
#include "rpc/rpc_tls.h"
#include "service/service.h"

/* The HTTP port serves a running coordinator or a standby. */

struct http_port {
    struct http *http;
    struct http_port_callbacks pages;
    struct token token; /* the jobs' token and those derived from it */
};

static const char *
http_port_unready_text(void *owner)
{
    const struct http_port *port = owner;

    return port->pages.unready_text(port->pages.owner);
}

static void
http_port_write_metrics(void *owner, FILE *out)
{
    const struct http_port *port = owner;

    port->pages.write_metrics(port->pages.owner, out);
}

static bool
http_port_query(void *owner, uint64_t number, const char *job)
{
    const struct http_port *port = owner;

    return port->pages.query(port->pages.owner, number, job);
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
        return HTTP_AUDIENCE_TOKEN_HOLDERS;
    return options_allow_anybody(options) ? HTTP_AUDIENCE_ANYBODY
                                          : HTTP_AUDIENCE_THIS_HOST;
}

/* Choose certificate and key: those of the workers' port unless the options
 * name others. *out_is_on tells whether the port uses TLS. */
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
                .unready_text = http_port_unready_text,
                .write_metrics = http_port_write_metrics,
                .token_role_of = token_role_lookup,
                .query = port->pages.query ? http_port_query : NULL,
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

/* Check where a coordinator may listen. */

static bool
option_text_is_on(const char *text)
{
    return text && strcmp(text, "on") == 0;
}

bool
options_require_authentication(const struct hoop_coordinator_options *options)
{
    const bool has_token = options->token && options->token[0];

    return has_token || (option_text_is_on(options->tls) && options->tls_ca);
}

bool
options_allow_anybody(const struct hoop_coordinator_options *options)
{
    return option_text_is_on(options->insecure_open);
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
options_check_listen_exposure(const struct hoop_coordinator_options *options)
{
    if (options->insecure_open && !option_text_is_on(options->insecure_open) &&
        strcmp(options->insecure_open, "off") != 0)
        return error_raise(HOOP_E_INVALID,
                           "insecure_open of the coordinator is on or off, "
                           "not '%s'",
                           options->insecure_open);
    if (options_require_authentication(options) ||
        options_allow_anybody(options))
        return HOOP_OK;
    enum hoop_status status = listen_require_loopback(options->listen);
    if (status == HOOP_OK && options->http)
        status = listen_require_loopback(options->http);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Start, query and stop a coordinator. */

enum {
    /* How long a stopping coordinator waits until its replies are sent. */
    COORDINATOR_DRAIN_MS = 2000,
};

static const char DEFAULT_LISTEN_ADDRESS[] = "127.0.0.1:0";

struct hoop_coordinator {
    struct rpc_tls *rpc_tls; /* NULL: no TLS */
    struct loop *loop;
    struct service *service;
    struct http_port *http; /* NULL: none */
    pthread_t thread;
    bool is_running;
    char address[LIMIT_ADDRESS];
};

DEFINE_CLEANUP(struct hoop_coordinator *, hoop_coordinator_destroy)

static const char *
unready_text(void *owner)
{
    const struct hoop_coordinator *coordinator = owner;

    return service_unready_text(coordinator->service);
}

static void
write_metrics(void *owner, FILE *out)
{
    struct hoop_coordinator *coordinator = owner;

    service_write_metrics(coordinator->service, out);
}

/* The page's queries go to the service's thread, and its answers and news come
 * back from there. That thread starts when the port is open. */
static bool
page_query(void *owner, uint64_t number, const char *job)
{
    struct hoop_coordinator *coordinator = owner;

    return service_query(coordinator->service, number, job);
}

static void
on_page_answer(void *owner,
               uint64_t number,
               enum hoop_status status,
               char *json)
{
    struct hoop_coordinator *coordinator = owner;

    http_answer_query(coordinator->http->http, number, status, json);
}

static void
on_page_news(void *owner, const char *job, const char *json)
{
    struct hoop_coordinator *coordinator = owner;

    if (coordinator->http)
        http_log_add(coordinator->http->http, job, json);
}

static void *
coordinator_thread_main(void *owner)
{
    struct hoop_coordinator *coordinator = owner;

    loop_run(coordinator->loop);
    return NULL;
}

static void
coordinator_on_drained(void *owner)
{
    struct hoop_coordinator *coordinator = owner;

    loop_stop(coordinator->loop);
}

static void
coordinator_on_stop_requested(void *owner)
{
    struct hoop_coordinator *coordinator = owner;

    service_drain(coordinator->service, COORDINATOR_DRAIN_MS,
                  coordinator_on_drained, coordinator);
}

/* Write the address as given, with the port that is actually bound. A list, and
 * the name localhost, are written as numeric addresses. */
static void
bound_address_format(const char *listen,
                     uint16_t port,
                     char text[LIMIT_ADDRESS])
{
    const char *colon = strrchr(listen, ':');
    const int n_host = colon ? (int)(colon - listen) : (int)strlen(listen);
    struct address_list list;

    if ((strchr(listen, ',') || strncasecmp(listen, "localhost:", 10) == 0) &&
        address_resolve_listen(listen, &list) == HOOP_OK) {
        for (size_t i = 0; i < list.n; i++) {
            if (address_port(&list.items[i]) == 0)
                address_set_port(&list.items[i], port);
        }
        address_list_format(&list, text);
        return;
    }
    snprintf(text, LIMIT_ADDRESS, "%.*s:%u", n_host, listen, port);
}

/* The option tls is "on" or "off", as in settings; NULL means off. */
static enum hoop_status
coordinator_tls_create(struct hoop_coordinator *coordinator,
                       const struct hoop_coordinator_options *options)
{
    const struct tls_files files = {
        .certificate = options->tls_cert,
        .key = options->tls_key,
        .ca = options->tls_ca,
    };

    if (!options->tls || strcmp(options->tls, "off") == 0)
        return HOOP_OK;
    if (strcmp(options->tls, "on") != 0)
        return error_raise(HOOP_E_INVALID,
                           "TLS of the coordinator is on or off, not '%s'",
                           options->tls);
    const enum hoop_status status =
        rpc_tls_create_server(&files, options->token, &coordinator->rpc_tls);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
coordinator_service_create(struct hoop_coordinator *coordinator,
                           const struct hoop_coordinator_options *options)
{
    enum hoop_status status = coordinator_tls_create(coordinator, options);
    if (status == HOOP_OK)
        status = loop_create(&coordinator->loop);
    if (status != HOOP_OK)
        return error_pass(status);
    status = service_create(
        &(struct service_options){
            .loop = coordinator->loop,
            .rpc_tls = coordinator->rpc_tls,
            .address = options->listen,
            .version = version_text,
            .data_dir = options->durability == HOOP_DURABLE_MEMORY
                            ? NULL
                            : options->data_dir,
            .durability = options->durability == HOOP_DURABLE_PROCESS
                              ? STORAGE_SURVIVES_PROCESS_CRASH
                              : STORAGE_SURVIVES_MACHINE_CRASH,
            .n_connections_per_origin_max = options->connections_per_address,
            .on_answer = on_page_answer,
            .on_news = on_page_news,
            .page_owner = coordinator,
            .cluster =
                {
                    .token = options->token,
                    .world_size = options->world_size,
                    .size_min = options->world_size_min,
                    .settle_ms = options->settle_ms,
                    .lease_ms = options->lease_ms,
                },
        },
        &coordinator->service);
    if (status != HOOP_OK)
        return error_pass(status);
    bound_address_format(options->listen, service_port(coordinator->service),
                         coordinator->address);
    return HOOP_OK;
}

static enum hoop_status
coordinator_http_open(struct hoop_coordinator *coordinator,
                      const struct hoop_coordinator_options *options)
{
    const enum hoop_status status =
        http_port_open(options,
                       &(struct http_port_callbacks){
                           .unready_text = unready_text,
                           .write_metrics = write_metrics,
                           .query = page_query,
                           .owner = coordinator,
                       },
                       &coordinator->http);
    if (status != HOOP_OK)
        return error_pass(status);
    service_report_start(coordinator->service);
    return HOOP_OK;
}

static enum hoop_status
coordinator_thread_start(struct hoop_coordinator *coordinator)
{
    if (pthread_create(&coordinator->thread, NULL, coordinator_thread_main,
                       coordinator) != 0)
        return error_raise(HOOP_E_EXHAUSTED, "no thread for the coordinator");
    coordinator->is_running = true;
    return HOOP_OK;
}

static enum hoop_status
coordinator_start_parts(struct hoop_coordinator *coordinator,
                        const struct hoop_coordinator_options *options)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    /* Faults of these threads must also reach the program's handlers. */
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    enum hoop_status status = coordinator_service_create(coordinator, options);
    if (status == HOOP_OK)
        status = coordinator_http_open(coordinator, options);
    if (status == HOOP_OK)
        status = coordinator_thread_start(coordinator);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

enum hoop_status
hoop_coordinator_start(const struct hoop_coordinator_options *options,
                       hoop_coordinator_t **out_coordinator)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    CLEANUP(hoop_coordinator_destroy)
    struct hoop_coordinator *coordinator = calloc(1, sizeof(*coordinator));

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!coordinator)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the coordinator");
    if (!options || !out_coordinator)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           options ? "out_coordinator" : "options");
    struct hoop_coordinator_options filled = *options;
    if (!filled.listen)
        filled.listen = DEFAULT_LISTEN_ADDRESS;
    enum hoop_status status = options_check_listen_exposure(&filled);
    if (status == HOOP_OK)
        status = coordinator_start_parts(coordinator, &filled);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_coordinator = STEAL(coordinator);
    return HOOP_OK;
}

const char *
hoop_coordinator_address(const hoop_coordinator_t *coordinator)
{
    return coordinator ? coordinator->address : NULL;
}

const char *
hoop_coordinator_http_address(const hoop_coordinator_t *coordinator)
{
    return coordinator ? http_port_address(coordinator->http) : NULL;
}

void
hoop_coordinator_stop(hoop_coordinator_t *coordinator)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    if (!coordinator || !coordinator->is_running)
        return;

    /* If there is no memory for the post, stop without draining. */
    if (loop_post(coordinator->loop, coordinator_on_stop_requested,
                  coordinator) != HOOP_OK)
        loop_stop(coordinator->loop);
    pthread_join(coordinator->thread, NULL);
    coordinator->is_running = false;
}

void
hoop_coordinator_destroy(hoop_coordinator_t *coordinator)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    if (!coordinator)
        return;

    hoop_coordinator_stop(coordinator);
    http_port_close(coordinator->http);
    service_destroy(coordinator->service);
    loop_destroy(coordinator->loop);
    rpc_tls_destroy(coordinator->rpc_tls);
    free(coordinator);
}

bool
coordinator_is_replaced(const hoop_coordinator_t *coordinator)
{
    return service_is_replaced(coordinator->service);
}

struct coordinator_member_counts
coordinator_member_counts(const hoop_coordinator_t *coordinator)
{
    struct coordinator_member_counts occupancy;

    service_get_member_counts(coordinator->service, &occupancy.n_members,
                              &occupancy.n_joins);
    return occupancy;
}

const char *
hoop_coordinator_error_text(void)
{
    return error_text();
}
