/* core/roll.h - who is here and who is missing, in words */

#ifndef CORE_ROLL_H
#define CORE_ROLL_H

#include "core/sentence.h"

struct cluster;
struct job;

/*
 * Why a world has not formed: "job "a" has not formed before a join deadline:
 * 3 of 4 have joined: rank 0 (host:pid), ...; missing: rank 3".
 */
struct sentence
roll_call(const struct cluster *cluster, const struct job *job);

#endif
