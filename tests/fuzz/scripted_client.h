/*
 * tests/fuzz/scripted_client.h - rpc/rpc_client.h, answered by a script
 *
 * Linked instead of that, on tests/fuzz/virtual_loop.h. Whatever is called, and
 * by whichever client, the next reply of the script answers it:
 *
 *     byte: milliseconds until then, and of the calls that wait which one
 *     two bytes: length (little-endian)
 *     the reply's envelope (rpc/envelope.h)
 *
 * As the real client does it, bytes that are no reply cost the connection, and
 * the call waits for the next; and a call whose time is up is answered so, as all
 * are behind the script's end. A reply's id is not looked at.
 */

#ifndef TESTS_FUZZ_SCRIPTED_CLIENT_H
#define TESTS_FUZZ_SCRIPTED_CLIENT_H

#include "fuzz/input.h"
#include "rpc/rpc_client.h"

/* Borrowed until the next. */
void
scripted_client_set(struct input script);

/* Of all clients: calls that have neither been answered nor cancelled. */
unsigned
scripted_client_n_waiting(void);

#endif
