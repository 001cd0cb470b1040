/* tests/unit/server/exposure_test.c - exposure.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "coordinator.h"

static void
addresses_of_other_hosts_need_a_token_a_ca_or_a_word(void **state)
{
    static const struct {
        struct hoop_coordinator_options options;
        enum hoop_status status;
    } cases[] = {
        {{.listen = "127.0.0.1:1"}, HOOP_OK},
        {{.listen = "localhost:1", .http = "[::1]:1"}, HOOP_OK},
        {{.listen = "0.0.0.0:1"}, HOOP_E_DENIED},
        {{.listen = "10.0.0.1:1"}, HOOP_E_DENIED},
        {{.listen = "localhost:1,10.0.0.1:1"}, HOOP_E_DENIED},
        {{.listen = "localhost:1", .http = ":1"}, HOOP_E_DENIED},
        {{.listen = ":1", .token = "t"}, HOOP_OK},
        {{.listen = ":1", .http = ":2", .token = "t"}, HOOP_OK},
        /* Everybody has the empty token. */
        {{.listen = ":1", .token = ""}, HOOP_E_DENIED},
        {{.listen = ":1", .tls = "on", .tls_ca = "ca"}, HOOP_OK},
        /* Whose certificates are not looked at. */
        {{.listen = ":1", .tls = "off", .tls_ca = "ca"}, HOOP_E_DENIED},
        {{.listen = ":1", .tls_ca = "ca"}, HOOP_E_DENIED},
        {{.listen = ":1", .tls = "on", .tls_cert = "c"}, HOOP_E_DENIED},
        {{.listen = ":1", .http = ":2", .insecure_open = "on"}, HOOP_OK},
        {{.listen = ":1", .insecure_open = "off"}, HOOP_E_DENIED},
        {{.listen = "localhost:1", .insecure_open = "yes"}, HOOP_E_INVALID},
        {{.listen = "nonsense"}, HOOP_E_INVALID},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(options_check_listen_exposure(&cases[i].options),
                         cases[i].status);
}

static void
refusal_names_the_address_and_what_to_set(void **state)
{
    static const char *const words[] = {"10.0.0.1:7", "HOOP_TOKEN",
                                        "--token-file", "--insecure-open",
                                        "HOOP_INSECURE_OPEN=1"};

    assert_int_equal(
        options_check_listen_exposure(&(struct hoop_coordinator_options){
            .listen = "localhost:7", .http = "10.0.0.1:7"}),
        HOOP_E_DENIED);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        assert_non_null(strstr(error_text(), words[i]));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_other_hosts_need_a_token_a_ca_or_a_word),
        cmocka_unit_test(refusal_names_the_address_and_what_to_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
