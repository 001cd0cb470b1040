/*
 * api/select.c - choose the algorithm of a collective
 *
 * Looks it up in the communicator's table (select/tuning.h).
 */

#include "api/select.h"

#include "base/log.h"
#include "select/tuning.h"

const struct algorithm *
select_algorithm(const struct hoop_comm *comm,
                 enum call_name name,
                 size_t n_bytes)
{
    const struct algorithm *algorithm =
        tuning_find_algorithm(comm->tuning, name, n_bytes);

    log_debug("coll", "%s of %zu bytes by %s", call_name_to_string(name),
              n_bytes, algorithm->name);
    return algorithm;
}
