/* hoop/coordinator.h - a coordinator inside this process
 *
 * What hoopd runs, as a library (libhoop-coordinator): for launchers and
 * tests. It needs threads of its own and must not be started before a fork.
 */

#ifndef HOOP_COORDINATOR_H
#define HOOP_COORDINATOR_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/status.h"

HOOP_BEGIN

typedef struct hoop_coordinator hoop_coordinator_t;

/* What survives of all that was acknowledged. */
enum hoop_durability {
    HOOP_DURABLE_DISK,    /* it, when the machine dies */
    HOOP_DURABLE_PROCESS, /* it, when the process dies */
    HOOP_DURABLE_MEMORY,  /* nothing */
};

/* Borrowed for the call; zero or NULL means the default. */
struct hoop_coordinator_options {
    const char *listen;  /* host:port, "127.0.0.1:0"; localhost:port is
                                 127.0.0.1 and ::1; several: with commas */
    const char *http;    /* as listen, for health, metrics and the page; NULL:
                            none */
    const char *token;   /* every job's token; NULL: it serves clients
                                 without one only */
    uint32_t world_size; /* for jobs whose workers do not say; 0: none */
    uint32_t world_size_min; /* form with fewer after settle_ms; 0: exactly */
    uint32_t settle_ms;      /* 1 s */
    uint32_t lease_ms;       /* a silent member is lost after this, 10 s */
    const char *data_dir;    /* folder of what outlives it: jobs, members,
                                 groups, keys; NULL: nothing does */
    enum hoop_durability durability;  /* of data_dir */
    uint32_t connections_per_address; /* of other hosts, 1024; of its own, many:
                                          its workers are there */
    const char *tls;      /* "on": TLS only; NULL or "off": none; as HOOP_TLS of
                             the clients */
    const char *tls_cert; /* its certificate, a file; NULL: by the token */
    const char *tls_key;  /* the certificate's key, a file */
    const char *tls_ca;   /* who is believed to sign those of clients, a file */
    const char *insecure_open; /* "on": with neither a token nor tls_ca listen
                                  where other hosts connect, too; NULL or
                                  "off": that is refused */
    const char *http_tls; /* "on": HTTP under TLS only, which /metrics needs
                                  for other hosts where there is a token; NULL or
                                  "off": none */
    const char *http_tls_cert; /* its certificate and ... */
    const char *http_tls_key;  /* ... the key, files; NULL: tls_cert, tls_key */
};

/*
 * Listen and serve from threads of its own until stopped.
 *
 * Handle: HOOP_E_UNAVAILABLE (the address is in use), HOOP_E_EXISTS (another
 * coordinator uses data_dir; the text names it), HOOP_E_DATA_LOSS (what is in
 * data_dir is damaged, or not a coordinator's), HOOP_E_DENIED (data_dir may not be
 * used; or other hosts would reach an address, and nothing keeps strangers out),
 * HOOP_E_INVALID (options, TLS without a token and certificates among them). On failure the text is
 * hoop_coordinator_error_text(). Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_coordinator_start(const struct hoop_coordinator_options *options,
                       hoop_coordinator_t **out_coordinator);

/* "host:port" as bound, several with commas between them, as clients take it
 * too; borrowed, lives as long as the coordinator. */
HOOP_API const char *
hoop_coordinator_address(const hoop_coordinator_t *coordinator);

/* "host:port" of the HTTP listener, or NULL. Same life. */
HOOP_API const char *
hoop_coordinator_http_address(const hoop_coordinator_t *coordinator);

/* Refuse new work, answer what waits, close, join the threads. Repeatable. */
HOOP_API void
hoop_coordinator_stop(hoop_coordinator_t *coordinator);

/* Stops first if need be. NULL is fine. */
HOOP_API void
hoop_coordinator_destroy(hoop_coordinator_t *coordinator);

/* As hoop_error_text(), for the calls of this header. */
HOOP_API const char *
hoop_coordinator_error_text(void);

HOOP_END

#endif
