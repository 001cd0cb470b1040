/* tests/unit/worker/transport/connect/tls_upgrade_test.c - transport/connect/handshaker.c, and what
 * connectors say of peers whose TLS is another */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "certificates.h"
#include "check.h"
#include "net/socket.h"
#include "test_cluster.h"

enum {
    TLS_HELLO_MIN = 100,
};

static struct test_cluster test_cluster;
static const struct tls_files by_token = {0};

static void
path_set(char path[LIMIT_SETTING], const char *text)
{
    snprintf(path, LIMIT_SETTING, "%s", text ? text : "");
}

/* Without files, nothing is encrypted. */
static void
config_encrypt(struct config *config, const struct tls_files *files)
{
    config->is_encrypted = files != NULL;
    if (!files)
        return;
    path_set(config->tls.cert, files->certificate);
    path_set(config->tls.key, files->key);
    path_set(config->tls.ca, files->ca);
}

/* Ranks 0 and 1 as they are said, rank 2 as rank 1. */
static void
open_with(const struct tls_files *first, const struct tls_files *others)
{
    test_cluster_open(&test_cluster);
    for (unsigned i = 0; i < TEST_CLUSTER_RANKS; i++) {
        config_encrypt(&test_cluster.test_nodes[i].config,
                       i == 0 ? first : others);
        test_cluster.test_nodes[i].config.shm_negotiation = SHM_MODE_NEVER;
    }
}

static void
assert_why(unsigned test_node, const char *text)
{
    if (!strstr(test_cluster.test_nodes[test_node].why, text))
        fail_msg("'%s' does not say '%s'",
                 test_cluster.test_nodes[test_node].why, text);
}

/* Rank 0 and rank 1 dial each other in vain. What they have of certificates was
 * valid when they started. */
static void
assert_apart(const char *why_first, const char *why_second)
{
    certificates_set_clock(CERTIFICATES_BEFORE_S);
    test_cluster_start(&test_cluster);
    certificates_set_clock(0);
    connector_dial(test_cluster.test_nodes[0].connector, 1);
    test_cluster_await(&test_cluster,
                       &test_cluster.test_nodes[0].n_unreachable[1], 1);
    connector_dial(test_cluster.test_nodes[1].connector, 0);
    test_cluster_await(&test_cluster,
                       &test_cluster.test_nodes[1].n_unreachable[0], 1);
    assert_why(0, why_first);
    assert_why(1, why_second);
    connector_dial(test_cluster.test_nodes[1].connector, 2);
    test_cluster_await(&test_cluster,
                       &test_cluster.test_nodes[1].n_connected[2], 1);
    test_cluster_close(&test_cluster);
}

static void
connect_and_check(void)
{
    test_cluster_start(&test_cluster);
    test_cluster_connect(&test_cluster, 0, 1);
    test_cluster_connect(&test_cluster, 2, 1);
    connector_dial_stream(test_cluster.test_nodes[0].connector, 1, 2);
    test_cluster_await(&test_cluster, &test_cluster.test_nodes[0].n_streams[1],
                       2);
    test_cluster_await(&test_cluster, &test_cluster.test_nodes[1].n_streams[0],
                       2);
    test_cluster_close(&test_cluster);
}

static void
token_alone_encrypts_all_connections(void **state)
{
    open_with(&by_token, &by_token);
    connect_and_check();
}

static void
certificates_encrypt_all_connections(void **state)
{
    const struct tls_files good = certificates_of("good", "ca");

    open_with(&good, &good);
    connect_and_check();
}

/* Bells say nothing: they go beside the TLS that has agreed on the memory. */
static void
shared_memory_is_agreed_on_within(void **state)
{
    open_with(&by_token, &by_token);
    for (unsigned i = 0; i < TEST_CLUSTER_RANKS; i++)
        test_cluster.test_nodes[i].config.shm_negotiation = SHM_MODE_ALWAYS;
    test_cluster_start(&test_cluster);
    test_cluster_connect(&test_cluster, 0, 1);
    assert_non_null(test_cluster.test_nodes[0].segments[1]);
    assert_null(test_cluster.test_nodes[0].tls_of[1]);
    test_cluster_close(&test_cluster);
}

static void
two_that_dial_each_other_have_one_connection(void **state)
{
    for (int i = 0; i < 5; i++) {
        open_with(&by_token, &by_token);
        test_cluster_start(&test_cluster);
        connector_dial(test_cluster.test_nodes[0].connector, 1);
        connector_dial(test_cluster.test_nodes[1].connector, 0);
        test_cluster_await(&test_cluster,
                           &test_cluster.test_nodes[0].n_connected[1], 1);
        test_cluster_await(&test_cluster,
                           &test_cluster.test_nodes[1].n_connected[0], 1);
        test_cluster_check_ends(&test_cluster, 0, 1);
        test_cluster_close(&test_cluster);
    }
}

static void
peer_without_tls_and_peer_with_it_say_so(void **state)
{
    open_with(&by_token, NULL);
    assert_apart("HOOP_TLS", "HOOP_TLS must be alike on all ranks");
    open_with(NULL, &by_token);
    assert_apart("HOOP_TLS must be alike on all ranks", "HOOP_TLS");
}

static void
other_token_is_refused(void **state)
{
    open_with(&by_token, &by_token);
    test_cluster.test_nodes[0].config.token[0] = 'S';
    assert_apart("no TLS with the other side", "no TLS with the other side");
}

static void
expired_and_foreign_certificates_are_refused(void **state)
{
    const struct tls_files good = certificates_of("good", "ca");
    const struct tls_files late = certificates_of("late", "ca");
    const struct tls_files foreign = certificates_of("stranger", "ca");

    open_with(&late, &good);
    assert_apart("certificate expired", "certificate has expired");
    open_with(&foreign, &good);
    assert_apart("unknown ca", "unable to get local issuer certificate");
    /* A CA alone is for the coordinator's. */
    open_with(&(struct tls_files){.ca = good.ca}, &good);
    assert_apart("no TLS with the other side", "no TLS with the other side");
}

/* A certificate of the right CA is not enough. */
static void
certificate_without_the_token_is_refused(void **state)
{
    const struct tls_files good = certificates_of("good", "ca");

    open_with(&good, &good);
    test_cluster.test_nodes[0].config.token[0] = 'S';
    assert_apart("during the handshake", "during the handshake");
}

/* Half a hello, and one that comes a byte at a time, hold nobody up. */
static void
strangers_disturb_nobody(void **state)
{
    static const uint8_t hello[TLS_HELLO_MIN] = {0x16, 3, 1, 2, 0, 1, 0, 1};
    int fds[4];

    open_with(&by_token, &by_token);
    test_cluster_start(&test_cluster);
    for (int i = 0; i < 4; i++)
        fds[i] = stranger_open(&test_cluster, 1, hello, (size_t)i * 30);
    stranger_await_end(
        stranger_open(&test_cluster, 1, "GET / HTTP/1.1\r\n", 16));
    test_cluster_connect(&test_cluster, 0, 1);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    test_cluster_close(&test_cluster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_alone_encrypts_all_connections),
        cmocka_unit_test(certificates_encrypt_all_connections),
        cmocka_unit_test(shared_memory_is_agreed_on_within),
        cmocka_unit_test(two_that_dial_each_other_have_one_connection),
        cmocka_unit_test(peer_without_tls_and_peer_with_it_say_so),
        cmocka_unit_test(other_token_is_refused),
        cmocka_unit_test(expired_and_foreign_certificates_are_refused),
        cmocka_unit_test(certificate_without_the_token_is_refused),
        cmocka_unit_test(strangers_disturb_nobody),
    };

    return cmocka_run_group_tests(tests, certificates_make,
                                  certificates_remove);
}
