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

struct body {
    const char *name;
    message_descriptor_fn *descriptor;
};

extern const struct body bodies[];
extern const size_t n_bodies;

/* NULL when there is none. */
const struct body *
body_find(const char *name);

/* Decode it, and encode what came out. */
enum hoop_status
body_again(const struct body *body, struct message_span in, struct pack *pack);

/*
 * What pack holds is such a body: decoded and encoded again it is the same;
 * cut anywhere it is refused; one more field at its end is passed over.
 */
void
body_check(const char *name, struct pack *pack);

#endif
