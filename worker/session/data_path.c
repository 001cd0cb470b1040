/* session/data_path.c - the engine, the connector and the background of a
 * world */

#include "session/data_path.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/background.h"

/* Callbacks of the engine, and then of the connector. */

static void
on_connection_needed(void *owner, uint32_t rank)
{
    const struct data_path *data_path = owner;

    /* The connector is destroyed before the last farewells are sent. */
    if (data_path->connector)
        connector_dial(data_path->connector, rank);
}

static void
on_stream_needed(void *owner, uint32_t rank, unsigned stream)
{
    const struct data_path *data_path = owner;

    if (data_path->connector)
        connector_dial_stream(data_path->connector, rank, stream);
}

static void
on_progress_needed(void *owner)
{
    const struct data_path *data_path = owner;

    background_progress_wake(data_path->background);
}

static void
on_connected(void *owner, uint32_t rank, int fd, struct segment *segment)
{
    const struct data_path *data_path = owner;

    engine_add_shm_connection(data_path->engine, rank, fd, segment);
}

static void
on_stream_connected(void *owner, uint32_t rank, unsigned stream, int fd)
{
    const struct data_path *data_path = owner;

    engine_attach_stream(data_path->engine, rank, stream, fd);
}

static void
on_tls_connected(void *owner,
                 uint32_t rank,
                 unsigned stream,
                 int fd,
                 struct tls *tls)
{
    const struct data_path *data_path = owner;

    engine_add_tls_connection(data_path->engine, rank, stream, fd, tls);
}

static void
on_unreachable(void *owner, uint32_t rank, const char *why)
{
    const struct data_path *data_path = owner;

    engine_report_unreachable(data_path->engine, rank, why);
}

static void
on_shortage(void *owner, const struct connector_shortage *shortage)
{
    const struct data_path *data_path = owner;

    engine_report_shortage(data_path->engine, shortage);
}

enum hoop_status
data_path_create_engine(struct data_path *data_path,
                        struct loop *loop,
                        const struct engine_options *options)
{
    struct engine_options wired = *options;

    wired.on_connection_needed = on_connection_needed;
    wired.on_stream_needed = on_stream_needed;
    wired.on_progress_needed = on_progress_needed;
    wired.owner = data_path;
    enum hoop_status status = engine_create(&wired, &data_path->engine);
    if (status == HOOP_OK)
        status = background_progress_create(loop, data_path->engine,
                                            &data_path->background);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
data_path_create_connector(struct data_path *data_path,
                           const struct connector_options *options)
{
    struct connector_options wired = *options;

    wired.on_connected = on_connected;
    wired.on_unreachable = on_unreachable;
    wired.on_stream = on_stream_connected;
    wired.on_encrypted = on_tls_connected;
    if (!wired.on_shortage)
        wired.on_shortage = on_shortage;
    wired.owner = data_path;
    const enum hoop_status status =
        connector_create(&wired, &data_path->connector);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

void
data_path_close(struct data_path *data_path)
{
    connector_destroy(STEAL(data_path->connector));
    background_progress_destroy(STEAL(data_path->background));
    engine_destroy(STEAL(data_path->engine));
}
