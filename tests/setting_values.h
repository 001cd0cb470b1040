/* tests/setting_values.h - a value of each setting of workers */

#ifndef TESTS_SETTING_VALUES_H
#define TESTS_SETTING_VALUES_H

#include "base/settings.h"

/* None is the default. config_fields_test says which setting is missing. */
static const struct setting_value {
    enum setting_id id;
    const char *text;
} setting_values[] = {
    {SETTING_COORDINATOR, "host:1"},
    {SETTING_JOB, "trial"},
    {SETTING_TOKEN, "secret"},
    {SETTING_TOKEN_FILE, "/nowhere"},
    {SETTING_RANK, "7"},
    {SETTING_WORLD_SIZE, "9"},
    {SETTING_JOIN_TIMEOUT, "5m"},
    {SETTING_TIMEOUT, "2.5"},
    {SETTING_FAILURE_TIMEOUT, "700ms"},
    {SETTING_LATE_WARNING, "1"},
    {SETTING_WAIT_NOTICE, "2"},
    {SETTING_ENDINGS, "/endings"},
    {SETTING_ON_FAILURE, "retry"},
    {SETTING_ADVERTISE, "node"},
    {SETTING_INTERFACE, "eth0"},
    {SETTING_PORT, "5000-5063"},
    {SETTING_CODEC, "auto"},
    {SETTING_WIRE_DTYPE, "int8"},
    {SETTING_CHECK, "full"},
    {SETTING_CHECKSUM, "on"},
    {SETTING_TRANSPORT, "tcp"},
    {SETTING_CMA, "on"},
    {SETTING_TLS, "on"},
    {SETTING_TLS_CERT, "/cert"},
    {SETTING_TLS_KEY, "/key"},
    {SETTING_TLS_CA, "/ca"},
    {SETTING_STREAMS, "3"},
    {SETTING_NODE, "rack"},
    {SETTING_ALGORITHM, "allreduce:ring"},
    {SETTING_TUNING, "model"},
    {SETTING_LOG, "warning"},
    {SETTING_LOG_FORMAT, "json"},
    {SETTING_RECORDER_DIR, "/records"},
    {SETTING_RECORDER_SIGNAL, "USR1"},
    {SETTING_DEBUG_SPIN, "always"},
    {SETTING_DEBUG_LINK, "latency=20us"},
    {SETTING_DEBUG_FAULT, "rank=1,do=kill"},
};

#endif
