/* hoop/hoop.h - all a worker needs, in one include
 *
 * Threads: each header says which of its calls may be made at once. Of every
 * thread that calls hoop it is true that
 *
 * - pthread_cancel() is held off within a call. The request stays pending, the
 *   call ends as it would have, by its deadline at the latest, and the thread is
 *   cancelled at its next cancellation point behind it; its cancel state is what
 *   it was before. A thread whose cancel type is asynchronous must not call.
 * - it needs 192 KiB of stack when it makes its first call. With less, calls
 *   that return a status return HOOP_E_EXHAUSTED, and the text says how much is
 *   there. Callbacks of the program come on top.
 */

#ifndef HOOP_HOOP_H
#define HOOP_HOOP_H

#include "hoop/api.h"
#include "hoop/checkpoint.h"
#include "hoop/coalesced.h"
#include "hoop/coll.h"
#include "hoop/comm.h"
#include "hoop/comm_spec.h"
#include "hoop/dim.h"
#include "hoop/dim_map.h"
#include "hoop/dtensor.h"
#include "hoop/dtype.h"
#include "hoop/elastic.h"
#include "hoop/gradients.h"
#include "hoop/group.h"
#include "hoop/init.h"
#include "hoop/interrupt.h"
#include "hoop/mappings.h"
#include "hoop/mesh.h"
#include "hoop/object.h"
#include "hoop/op.h"
#include "hoop/p2p.h"
#include "hoop/p2p_communicator.h"
#include "hoop/parameter.h"
#include "hoop/pipeline.h"
#include "hoop/process_group.h"
#include "hoop/redistribute.h"
#include "hoop/schedule.h"
#include "hoop/schedule_run.h"
#include "hoop/session.h"
#include "hoop/sharded.h"
#include "hoop/sharding.h"
#include "hoop/state.h"
#include "hoop/status.h"
#include "hoop/tensor.h"
#include "hoop/tensor_parallel.h"
#include "hoop/tuning.h"

#endif
