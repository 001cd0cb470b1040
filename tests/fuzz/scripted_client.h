/*
 * tests/fuzz/scripted_client.h - rpc/rpc_client.h, answered by a script
 *
 * It is linked in place of the real client, and uses tests/fuzz/virtual_loop.h.
 * The next reply of the script answers whichever call any client makes:
 *
 *     byte: milliseconds until the reply, and which waiting call gets it
 *     two bytes: length (little-endian)
 *     the reply's envelope (rpc/envelope.h)
 *
 * As in the real client, bytes that are no reply end the connection, and the
 * call waits for the next reply. A call whose time is over fails, as do all
 * calls after the end of the script. The IDs of replies are ignored.
 */

#ifndef TESTS_FUZZ_SCRIPTED_CLIENT_H
#define TESTS_FUZZ_SCRIPTED_CLIENT_H

#include "fuzz/input.h"
#include "rpc/rpc_client.h"

/* The script is borrowed until the next one is set. */
void
scripted_client_set(struct input script);

/* Returns how many calls of all clients are neither answered nor cancelled. */
unsigned
scripted_client_n_waiting(void);

#endif
