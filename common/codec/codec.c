/* codec/codec.c - payloads coded a segment at a time, by id */

#include "codec/codec.h"
