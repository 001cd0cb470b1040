/*
 * tests/unit/common/rpc/messages/bodies.h - every kind of body
 *
 * For the tests of each family, and for the fuzz target.
 */

#ifndef TESTS_BODIES_H
#define TESTS_BODIES_H

#include <stddef.h>

#include "hoop/status.h"

#include "rpc/messages/message.h"
#include "wire/pack.h"

typedef enum hoop_status
body_again_fn(struct message_span in, struct pack *pack);

struct body {
    const char *name;
    body_again_fn *again;
};

extern const struct body bodies[];
extern const size_t n_bodies;

/* NULL when there is none. */
const struct body *
body_find(const char *name);

/*
 * What pack holds is such a body: decoded and encoded again it is the same;
 * cut anywhere it is refused; one more field at its end is passed over.
 */
void
body_check(const char *name, struct pack *pack);

#endif
