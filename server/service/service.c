/*
 * service/service.c - connects the coordinator's core to its RPC server
 *
 * The address of a request is its ticket. The service owns the request until it
 * is answered, so no two unanswered requests share a ticket.
 */

#include "service/service.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "base/role.h"
#include "core/cluster.h"
#include "net/loop.h"
#include "rpc/messages/status_messages.h"
#include "rpc/rpc_server.h"
#include "service/archive.h"
#include "service/decoded_request.h"
#include "service/job_json.h"
#include "service/job_metrics_write.h"
#include "service/metrics.h"
#include "service/page_query.h"
#include "service/reply_encode.h"
#include "storage/storage.h"
#include "wire/pack.h"

/* Log lines about jobs and refused clients. */

static enum log_level
notice_log_level(enum cluster_log_notice_kind kind)
{
    switch (kind) {
    case CLUSTER_NOTICE_JOINED:
    case CLUSTER_NOTICE_WITHDRAWN:
    case CLUSTER_NOTICE_FORMED:
    case CLUSTER_NOTICE_GROWN:
    case CLUSTER_NOTICE_SHRUNK:
    case CLUSTER_NOTICE_LEFT:
    case CLUSTER_NOTICE_ENDED:
        return LOG_INFO;
    case CLUSTER_NOTICE_FORM_FAILED:
    case CLUSTER_NOTICE_REFUSED:
    case CLUSTER_NOTICE_LOST:
    case CLUSTER_NOTICE_STEPPED_LATE:
    case CLUSTER_NOTICE_PEER_HEARS:
        return LOG_WARNING;
    }
    return LOG_WARNING;
}

void
client_notice_log(struct notices *notices,
                  const struct cluster_log_notice *notice,
                  enum role role,
                  const char *peer)
{
    if (notice->kind != CLUSTER_NOTICE_REFUSED)
        log_at(notice_log_level(notice->kind), "job", "%s", notice->text);
    else if (role == ROLE_WORKER ||
             log_quota_take(&notices->refusals, "job", clock_now_ns()))
        log_warning("job", "%s (asked by %s)", notice->text,
                    peer ? peer : "nobody");
}

void
notices_log_refusal(struct notices *notices,
                    const char *method,
                    const char *peer)
{
    if (log_quota_take(&notices->refusals, "job", clock_now_ns()))
        log_warning("rpc", "%s from %s refused: %s", method, peer,
                    error_text());
}

void
notices_log_suppressed(struct notices *notices, uint64_t now_ns)
{
    log_quota_report(&notices->refusals, "job", now_ns);
}

struct service {
    struct loop *loop;
    struct loop_timer *timer;
    struct rpc_server *server;
    struct cluster *cluster;      /* stepped under the lock */
    pthread_mutex_t cluster_lock; /* for the thread that writes metrics */
    struct storage *storage;      /* NULL: nothing is stored */
    struct metrics *metrics;
    struct notices notices;
    const char *version;
    struct encoded_roster roster;
    struct token token; /* the token of all jobs; zeroed: none is known */
    uint64_t started_ns;
    uint64_t wall_offset_ns; /* wall clock minus clock_now_ns(), at the start */
    service_answer_fn *on_answer;
    service_news_fn *on_news;
    void *page_owner;
    struct page_queries page_queries;
    struct page_verdicts page_verdicts;
    atomic_bool is_draining;
    atomic_bool is_replaced_by_other_hoopd;
    /* Counters of the cluster, for other threads. */
    _Atomic uint64_t n_members;
    _Atomic uint64_t n_joins;

    /* The request whose event is being stepped, or NULL. Its reply frees it,
     * and replies to other requests may follow in the same step. */
    struct rpc_request *current;
    bool current_changes_state;  /* false for a health check */
    uint64_t current_arrival_ns; /* when it came */
    /* The request whose client has disconnected. It becomes NULL if the request
     * is answered in the step that should cancel it, for example because its
     * deadline has passed. */
    struct rpc_request *disconnected_request;
};

static struct rpc_request *
request_from_ticket(uint64_t ticket)
{
    return (struct rpc_request *)(uintptr_t)ticket;
}

static uint64_t
ticket_from_request(const struct rpc_request *request)
{
    return (uint64_t)(uintptr_t)request;
}

static void
service_timer_arm(struct service *service)
{
    const uint64_t next_ns = cluster_next_deadline_ns(service->cluster);

    if (next_ns == CLOCK_NEVER)
        loop_timer_stop(service->timer);
    else
        loop_timer_start(service->timer, (uint64_t)clock_left_ms(next_ns));
}

static uint32_t
serving(const struct service *service)
{
    return service_unready_text(service) ? HEALTH_NOT_SERVING : HEALTH_SERVING;
}

static void
service_answer_request(struct service *service,
                       struct rpc_request *request,
                       enum hoop_status status,
                       const char *text,
                       struct message_span body)
{
    metrics_count_reply(service->metrics, rpc_request_method(request)->id,
                        status);
    if (request == service->current)
        metrics_record_latency(service->metrics,
                               clock_now_ns() - service->current_arrival_ns);
    if (request == service->disconnected_request)
        service->disconnected_request = NULL;
    rpc_reply(request, status, text, body);
}

/* Answer with a failure of the service itself; the error text says why. */
static void
service_refuse_request(struct service *service,
                       struct rpc_request *request,
                       enum hoop_status status)
{
    notices_log_refusal(&service->notices, rpc_request_method(request)->name,
                        rpc_request_peer(request));
    service_answer_request(service, request, status, error_text(),
                           (struct message_span){0});
}

static void
cluster_reply_send(struct service *service, const struct cluster_reply *reply)
{
    struct rpc_request *request = request_from_ticket(reply->ticket);
    const uint64_t now_ns = clock_now_ns();
    const struct reply_encode_context context = {
        .roster = &service->roster,
        .now_ns = now_ns,
        .uptime_ms = (now_ns - service->started_ns) / CLOCK_NS_PER_MS,
        .clock_ns = clock_wall_ns(),
        .serving = serving(service),
        .version = service->version,
    };
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_BODY);
    enum hoop_status status = reply_encode_body(reply, &context, &pack);
    if (status == HOOP_OK)
        status = pack_take(&pack, &bytes, &n_bytes);
    if (status != HOOP_OK) {
        service_refuse_request(service, request, status);
        return;
    }
    service_answer_request(service, request, reply_encode_status(reply),
                           reply->text, (struct message_span){bytes, n_bytes});
}

/* ---- The page. */

static struct job_json_context
page_context(const struct service *service)
{
    return (struct job_json_context){
        .version = service->version,
        .now_ns = clock_now_ns(),
        .wall_offset_ns = service->wall_offset_ns,
        .started_ns = service->started_ns,
    };
}

/* Whoever looks at the list of jobs also asks some of them why they stand
 * still. */
static void
page_verdicts_query(struct service *service, uint64_t now_ns)
{
    const char *job = NULL;

    while ((job = page_verdicts_take_turn(&service->page_verdicts, now_ns)) &&
           service_query(service, PAGE_QUERY_FOR_VERDICT, job))
        ;
}

static void
page_query_answer(struct service *service,
                  struct page_query *query,
                  const struct cluster_reply *reply)
{
    const struct job_json_context context = page_context(service);
    const uint64_t number = query->number;
    char *json =
        page_query_take_reply(query, reply, &context, &service->page_verdicts);

    page_query_end(&service->page_queries, query);
    if (number != PAGE_QUERY_FOR_VERDICT)
        service->on_answer(service->page_owner, number, reply->status, json);
    if (reply->kind == CLUSTER_REPLY_JOBS)
        page_verdicts_query(service, context.now_ns);
}

static void
page_report_news(struct service *service,
                 const char *kind,
                 const struct cluster_log_notice *notice)
{
    const struct job_json_context context = page_context(service);

    if (!service->on_news || !kind)
        return;
    CLEANUP(free) char *json = notice_json(kind, notice, &context);
    if (json)
        service->on_news(service->page_owner, notice->job ? notice->job : "",
                         json);
}

static void
cluster_actions_execute(struct service *service,
                        const struct cluster_actions *actions,
                        const char *peer)
{
    for (size_t i = 0; i < actions->n_items; i++) {
        const struct cluster_action *action = &actions->items[i];
        struct page_query *query = NULL;

        switch (action->kind) {
        case CLUSTER_REPLY:
            query = page_query_of_ticket(&service->page_queries,
                                         action->reply.ticket);
            if (query)
                page_query_answer(service, query, &action->reply);
            else
                cluster_reply_send(service, &action->reply);
            break;
        case CLUSTER_LOG_NOTICE:
            client_notice_log(&service->notices, &action->notice, actions->role,
                              peer);
            page_report_news(service, notice_kind_name(action->notice.kind),
                             &action->notice);
            break;
        case CLUSTER_ACTION_STORE_RECORD: /* stored by archive_store_step_records() */
            break;
        }
    }
}

static void
service_publish_counters(struct service *service)
{
    const struct rpc_server_counters counters =
        rpc_server_counters(service->server);
    const struct cluster_counters *cluster = cluster_counters(service->cluster);

    metrics_set_counters(service->metrics, cluster, &counters);
    /* The member count is stored first: a thread that sees the join also sees
     * the member. */
    atomic_store(&service->n_members, cluster->members);
    atomic_store(&service->n_joins, cluster->joins);
}

static void
service_commit_changes(struct service *service)
{
    if (service->storage)
        storage_commit(service->storage);
}

static void
service_step_event(struct service *service, const struct cluster_event *event)
{
    char peer[LIMIT_ADDRESS] = "";

    /* The request is freed by its reply, and a notice may come after it. */
    if (service->current)
        snprintf(peer, sizeof(peer), "%s", rpc_request_peer(service->current));

    pthread_mutex_lock(&service->cluster_lock);
    const struct cluster_actions actions =
        cluster_step(service->cluster, event);
    pthread_mutex_unlock(&service->cluster_lock);
    /* A connection that must prove a token has done so already; without a
     * token, the core's acceptance counts as proof. */
    if (service->current && actions.role != ROLE_ANYBODY)
        rpc_request_set_role(service->current, actions.role);

    /* Publish before replying, so that a client that has its answer finds
     * itself counted. */
    service_publish_counters(service);
    /* The replies wait for these records to become durable. */
    if (service->storage)
        archive_store_step_records(service->storage, &actions);
    cluster_actions_execute(service, &actions, peer[0] ? peer : NULL);
    notices_log_suppressed(&service->notices, event->now_ns);
    service_commit_changes(service);

    service_publish_counters(service); /* counts the replies too */
    service_timer_arm(service);
}

static void
on_page_query(void *owner)
{
    const struct page_query *query = owner;
    struct service *service = query->owner;
    const struct cluster_event event = page_query_event(
        query, service->token.texts[ROLE_OPERATOR], clock_now_ns());

    service_step_event(service, &event);
}

bool
service_query(struct service *service, uint64_t number, const char *job)
{
    struct page_query *query =
        page_query_begin(&service->page_queries, number, job);

    if (!query)
        return false;
    if (loop_post(service->loop, on_page_query, query) == HOOP_OK)
        return true;
    page_query_end(&service->page_queries, query);
    return false;
}

void
service_report_start(struct service *service)
{
    const struct cluster_counters *found = cluster_counters(service->cluster);
    char text[LIMIT_ERROR_TEXT];

    if (found->jobs > 0)
        snprintf(text, sizeof(text),
                 "hoopd %s starts again with %" PRIu64 " %s and %" PRIu64
                 " %s; its log of them begins here",
                 service->version, found->jobs,
                 found->jobs == 1 ? "job" : "jobs", found->members,
                 found->members == 1 ? "member" : "members");
    else
        snprintf(text, sizeof(text), "hoopd %s starts; there are no jobs yet",
                 service->version);
    page_report_news(service, "started",
                     &(struct cluster_log_notice){.text = text});
}

static void
on_disconnect(void *owner, uint32_t connection)
{
    (void)connection;
    service_publish_counters(owner);
}

static void
on_timer(void *owner)
{
    struct service *service = owner;

    service_step_event(service,
                       &(struct cluster_event){.kind = CLUSTER_TICK,
                                               .now_ns = clock_now_ns()});
}

static void
health_check_answer(struct service *service, struct rpc_request *request)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    health_reply_encode(&(struct health_reply){serving(service)}, &pack);
    const enum hoop_status status = pack_take(&pack, &bytes, &n_bytes);
    if (status != HOOP_OK)
        service_refuse_request(service, request, status);
    else
        service_answer_request(service, request, HOOP_OK, NULL,
                               (struct message_span){bytes, n_bytes});
}

static enum hoop_status
join_event_fill_seed(struct cluster_event *event)
{
    if (event->kind != CLUSTER_JOIN)
        return HOOP_OK;

    const enum hoop_status status =
        random_fill(&event->join.seed, sizeof(event->join.seed));
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* While the disk is full or slow, changes would pile up in memory: refuse
 * requests that add to the stored state before they are applied. */
static bool
request_check_storage_room(struct service *service, struct rpc_request *request)
{
    const struct method *method = rpc_request_method(request);

    if (!service->storage || method->need == METHOD_NEEDED ||
        storage_has_room(service->storage))
        return true;
    metrics_count_reply(service->metrics, method->id, HOOP_E_EXHAUSTED);
    rpc_request_refuse(request, HOOP_E_EXHAUSTED,
                       "the coordinator cannot write its data (its disk is "
                       "full, or too slow), and takes nothing more that it "
                       "would have to keep: make room there, and try again");
    return false;
}

/* Return the token of the role that the request's connection has proved. */
static const char *
request_proved_token(const struct service *service,
                     const struct rpc_request *request)
{
    const enum role role = rpc_request_role(request);

    return role == ROLE_ANYBODY ? "" : service->token.texts[role];
}

static void
service_step_request(struct service *service, struct rpc_request *request)
{
    CLEANUP(decoded_request_deinit)
    struct decoded_request decoded_request = {0};
    const uint64_t now_ns = clock_now_ns();
    struct cluster_event event = {
        .now_ns = now_ns,
        .ticket = ticket_from_request(request),
        .token = request_proved_token(service, request),
        .client = rpc_request_connection(request),
        .deadline_ns = decoded_request_reply_by_ns(
            rpc_request_deadline_ns(request), now_ns),
    };

    enum hoop_status status = decoded_request_to_event(
        &decoded_request, rpc_request_method(request)->id,
        rpc_request_envelope(request), &event);
    if (status == HOOP_OK)
        status = join_event_fill_seed(&event);
    if (status != HOOP_OK) {
        service_refuse_request(service, request,
                               status == HOOP_E_DATA_LOSS ? HOOP_E_INVALID
                                                          : status);
        return;
    }
    service_step_event(service, &event);
}

static void
on_request(void *owner, struct rpc_request *request)
{
    struct service *service = owner;

    service->current = request;
    service->current_changes_state =
        rpc_request_method(request)->id != METHOD_HEALTH_CHECK;
    service->current_arrival_ns = clock_now_ns();
    if (!service->current_changes_state) {
        health_check_answer(service, request);
        service_publish_counters(service);
    } else if (request_check_storage_room(service, request)) {
        service_step_request(service, request);
    }
    service->current = NULL;
    service_commit_changes(service);
}

static bool
request_is_allowed(void *owner, const struct rpc_request *request)
{
    const struct service *service = owner;
    const struct envelope_request *envelope = rpc_request_envelope(request);

    return cluster_accepts_token(service->cluster,
                                 decoded_request_job_name(envelope),
                                 request_proved_token(service, request),
                                 rpc_request_method(request)->role);
}

/* Return the batch number that a reply must wait for: what it tells must not be
 * lost. */
static uint64_t
reply_durable_batch_number(void *owner)
{
    struct service *service = owner;

    if (!service->storage ||
        (service->current && !service->current_changes_state))
        return 0;
    if (!service->current)
        service_commit_changes(service); /* the reply is the server's own */
    return storage_batch_number(service->storage);
}

static void
on_durable(void *owner, uint64_t number)
{
    rpc_server_release_replies(((struct service *)owner)->server, number);
}

static void
on_drained_ignore(void *owner)
{
    (void)owner;
}

/* Clients will find the other coordinator; answers from here would be
 * outdated. */
static void
on_replaced(void *owner)
{
    struct service *service = owner;

    atomic_store(&service->is_draining, true);
    rpc_server_drain(service->server, 0, on_drained_ignore, service);
    atomic_store(&service->is_replaced_by_other_hoopd, true);
}

/* While writes fail, reads are answered at once. They may then report state
 * that is lost if hoopd ends before it is written, which is better than no
 * answer for as long as the disk is full. */
static void
on_health(void *owner)
{
    struct service *service = owner;
    const bool is_well = storage_is_healthy(service->storage);

    rpc_server_set_read_mode(service->server, is_well ? DEFERRED_READS_WAIT
                                                      : DEFERRED_READS_PASS);
    metrics_set_disk_state(service->metrics, is_well
                                                 ? METRICS_DISK_WRITABLE
                                                 : METRICS_DISK_NOT_WRITABLE);
}

/* Every request that can be parked either changes nothing or may be repeated,
 * so drop it. */
static void
on_request_abandoned(void *owner, struct rpc_request *request)
{
    struct service *service = owner;

    service->disconnected_request = request;
    service_step_event(service, &(struct cluster_event){
                                    .kind = CLUSTER_CANCEL,
                                    .now_ns = clock_now_ns(),
                                    .ticket = ticket_from_request(request)});
    if (service->disconnected_request)
        rpc_request_drop(STEAL(service->disconnected_request));
}

/* Create the core, and restore its state if there is any. */
static enum hoop_status
service_core_create(struct service *service,
                    const struct service_options *options)
{
    struct cluster_options cluster = options->cluster;
    enum hoop_status status = HOOP_OK;

    if (options->data_dir)
        status = storage_open(
            &(struct storage_options){
                .loop = options->loop,
                .folder = options->data_dir,
                .durability = options->durability,
                .on_durable = on_durable,
                .on_health = on_health,
                .on_replaced = on_replaced,
                .owner = service,
            },
            &service->storage);
    if (status != HOOP_OK)
        return error_pass(status);
    cluster.keeps_records = service->storage != NULL;
    cluster.now_ns = clock_now_ns();
    cluster.wall_offset_ns = clock_wall_ns() - cluster.now_ns;
    status = cluster_create(&cluster, &service->cluster);
    if (status == HOOP_OK && service->storage)
        status = archive_restore_cluster(service->storage, service->cluster);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
service_parts_create(struct service *service,
                     const struct service_options *options)
{
    enum hoop_status status = metrics_create(&service->metrics);
    if (status == HOOP_OK && options->cluster.token)
        status = token_derive_roles(&service->token, options->cluster.token);
    if (status == HOOP_OK)
        status = service_core_create(service, options);
    if (status != HOOP_OK)
        return error_pass(status);
    status =
        loop_timer_create(options->loop, on_timer, service, &service->timer);
    if (status != HOOP_OK)
        return error_pass(status);
    status = rpc_server_create(
        &(struct rpc_server_options){
            .loop = options->loop,
            .address = options->address,
            .rpc_tls = options->rpc_tls,
            .on_request = on_request,
            .on_request_abandoned = on_request_abandoned,
            .on_disconnect = on_disconnect,
            .barrier = reply_durable_batch_number,
            .is_allowed = request_is_allowed,
            .owner = service,
            .drain_mode =
                service->storage ? RPC_DRAIN_SILENT : RPC_DRAIN_REFUSE,
            .secret = options->cluster.token,
            .limits = {.n_network_max = options->n_connections_per_origin_max},
        },
        &service->server);
    if (status == HOOP_OK && service->storage)
        status = archive_restore_replies(
            service->storage, rpc_server_reply_cache(service->server));
    if (status != HOOP_OK)
        return error_pass(status);
    /* Recovered leases expire even if no request comes. */
    service_publish_counters(service);
    service_timer_arm(service);
    return HOOP_OK;
}

enum hoop_status
service_create(const struct service_options *options,
               struct service **out_service)
{
    CLEANUP(service_destroy)
    struct service *service = calloc(1, sizeof(*service));

    if (!service)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the service");
    service->loop = options->loop;
    service->version = options->version;
    service->started_ns = clock_now_ns();
    service->wall_offset_ns = clock_wall_ns() - service->started_ns;
    service->on_answer = options->on_answer;
    service->on_news = options->on_news;
    service->page_owner = options->page_owner;
    page_queries_init(&service->page_queries, service);
    atomic_init(&service->is_draining, false);
    atomic_init(&service->is_replaced_by_other_hoopd, false);
    atomic_init(&service->n_members, 0);
    atomic_init(&service->n_joins, 0);
    pthread_mutex_init(&service->cluster_lock, NULL);

    const enum hoop_status status = service_parts_create(service, options);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_service = STEAL(service);
    return HOOP_OK;
}

void
service_destroy(struct service *service)
{
    if (!service)
        return;

    rpc_server_destroy(service->server);
    storage_close(service->storage);
    loop_timer_destroy(service->timer);
    cluster_destroy(service->cluster);
    page_queries_deinit(&service->page_queries);
    page_verdicts_deinit(&service->page_verdicts);
    metrics_destroy(service->metrics);
    encoded_roster_deinit(&service->roster);
    explicit_bzero(&service->token, sizeof(service->token));
    pthread_mutex_destroy(&service->cluster_lock);
    free(service);
}

void
service_drain(struct service *service,
              uint64_t timeout_ms,
              service_drained_fn *on_drained,
              void *owner)
{
    const bool is_first = !atomic_exchange(&service->is_draining, true);

    /* The core first, so that it answers the parked requests with its own
     * texts. */
    if (service->storage)
        storage_flush(service->storage, timeout_ms);
    else if (is_first)
        service_step_event(service,
                           &(struct cluster_event){.kind = CLUSTER_DRAIN,
                                                   .now_ns = clock_now_ns()});
    rpc_server_drain(service->server, timeout_ms, on_drained, owner);
}

uint16_t
service_port(const struct service *service)
{
    return rpc_server_port(service->server);
}

const char *
service_unready_text(const struct service *service)
{
    if (atomic_load(&service->is_draining))
        return "draining: it is about to end\n";
    if (service->storage && !storage_is_healthy(service->storage))
        return "not ready: it cannot write its data\n";
    return NULL;
}

bool
service_is_replaced(const struct service *service)
{
    return atomic_load(&service->is_replaced_by_other_hoopd);
}

void
service_get_member_counts(const struct service *service,
                          uint64_t *out_n_members,
                          uint64_t *out_n_joins)
{
    *out_n_joins = atomic_load(&service->n_joins);
    *out_n_members = atomic_load(&service->n_members);
}

void
service_write_metrics(struct service *service, FILE *out)
{
    size_t n_rows = 0;

    metrics_write(service->metrics, out);
    pthread_mutex_lock(&service->cluster_lock);
    CLEANUP(free)
    struct job_metrics_row *rows =
        cluster_job_metrics(service->cluster, clock_now_ns(), &n_rows);
    pthread_mutex_unlock(&service->cluster_lock);
    job_metrics_write(rows, n_rows, out);
}
