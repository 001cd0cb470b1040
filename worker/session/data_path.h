/*
 * session/data_path.h - the engine of a world, its connector and its background
 * progress, wired to each other
 *
 * The engine asks the connector for connections and the background for
 * progress; the connector hands what it has connected to the engine.
 */

#ifndef SESSION_DATA_PATH_H
#define SESSION_DATA_PATH_H

#include <stdint.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "transport/connect/connector.h"

struct background;

struct data_path {
    struct engine *engine;
    struct connector *connector; /* NULL: not open yet, or closed already */
    struct background *background;
};

/*
 * Create the engine and its background progress on loop, which is borrowed for
 * life. options says what data_path does not: the roster, the configuration,
 * and the callbacks but on_connection_needed, on_stream_needed and
 * on_progress_needed. The owner of all callbacks is data_path, which must stay
 * where it is; CONTAINER_OF() leads from it to what it is a member of. Whatever
 * the status, data_path_close() frees what there is.
 */
enum hoop_status
data_path_create_engine(struct data_path *data_path,
                        struct loop *loop,
                        const struct engine_options *options);

/* Create the connector; the engine exists. options says what data_path does
 * not: all but the callbacks and their owner. on_shortage may be set; NULL:
 * the engine is told. */
enum hoop_status
data_path_create_connector(struct data_path *data_path,
                           const struct connector_options *options);

/* Destroy what is left of data_path, which may be zeroed: whoever has
 * destroyed a member earlier has set it to NULL. The loop has been stopped
 * and still exists. */
void
data_path_close(struct data_path *data_path);

#endif
