/* SPDX-License-Identifier: MIT
 *
 * Messages of Camshaft's services, from C and from what calls C: PubMaster and SubMaster over
 * shared memory (msgq/services). Stable, by the rules of runtime/capi/camshaft.h, whose numbers its
 * statuses are.
 *
 * - Every call but the getters returns a camshaft_msgq_status; camshaft_msgq_last_error() says in a
 *   sentence what was wrong and what to do, of this thread's last call that failed.
 * - One thread at a time may use a publisher or a subscriber. Closing a null pointer is allowed.
 * - Services go by their place in the list that was given to open.
 */
#ifndef CAMSHAFT_MSGQ_CAPI_CAMSHAFT_MSGQ_H_
#define CAMSHAFT_MSGQ_CAPI_CAMSHAFT_MSGQ_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAMSHAFT_MSGQ_API __attribute__((visibility("default")))

typedef struct camshaft_publisher camshaft_publisher;
typedef struct camshaft_subscriber camshaft_subscriber;

typedef int32_t camshaft_msgq_status; /* 0: ok; others as CAMSHAFT_INVALID_ARGUMENT and so on */
enum { CAMSHAFT_MSGQ_OK = 0, CAMSHAFT_MSGQ_DEADLINE_EXCEEDED = 5 };

/* Never null. */
CAMSHAFT_MSGQ_API const char* camshaft_msgq_last_error(void);

/* The clock of all times here: CLOCK_MONOTONIC, in nanoseconds. */
CAMSHAFT_MSGQ_API int64_t camshaft_msgq_now_ns(void);

/* --- The table of services ------------------------------------------------------------------- */

typedef struct camshaft_service {
  const char* name;
  const char* schema;
  double rate_hz; /* 0: on demand */
  uint32_t log_decimation;
  uint64_t queue_bytes;
} camshaft_service;

CAMSHAFT_MSGQ_API uint32_t camshaft_service_count(void);
/* Service number `index` of msgq/schema/services.toml; pointers live for ever. */
CAMSHAFT_MSGQ_API camshaft_msgq_status camshaft_service_get(uint32_t index, camshaft_service* out);

/* --- Sending --------------------------------------------------------------------------------- */

/* Opens the topics of services for sending. `prefix`: NULL or "" for the domain that
 * CAMSHAFT_PREFIX names. */
CAMSHAFT_MSGQ_API camshaft_msgq_status camshaft_publisher_open(const char* prefix,
                                                               const char* const* services,
                                                               uint32_t count,
                                                               camshaft_publisher** out);
CAMSHAFT_MSGQ_API void camshaft_publisher_close(camshaft_publisher* publisher);

/* Sends bytes of a Message (msgq/schema/messages.capnp), which are checked: CAMSHAFT_CORRUPT where
 * they are none, CAMSHAFT_INVALID_ARGUMENT where the body is not the service's. */
CAMSHAFT_MSGQ_API camshaft_msgq_status camshaft_publisher_send(camshaft_publisher* publisher,
                                                               const char* service,
                                                               const void* bytes, size_t size);

/* --- Receiving ------------------------------------------------------------------------------- */

typedef struct camshaft_subscription {
  const char* service;
  uint32_t conflate; /* 1: an update takes the newest message; 0: one after the other */
  uint32_t wakes;    /* 1: its messages end an update's wait */
  uint32_t is_optional;
  uint32_t reserved;
  double rate_hz; /* that is expected; less than 0: as the table says */
} camshaft_subscription;

typedef struct camshaft_service_state {
  uint32_t updated, seen, alive, valid, rate_ok, ok; /* 0 or 1 */
  double rate_1s, rate_10s;
  int64_t late_by_ns, late_since_ns;           /* 0: in time */
  int64_t last_late_by_ns, last_late_since_ns; /* of the last time that is over; 0: none */
  uint64_t times_late;
  uint64_t sequence;
  int64_t sent_ns;
  uint64_t received, dropped, damaged;
} camshaft_service_state;

CAMSHAFT_MSGQ_API camshaft_msgq_status camshaft_subscriber_open(
    const char* prefix, const char* name, const camshaft_subscription* subscriptions,
    uint32_t count, camshaft_subscriber** out);
CAMSHAFT_MSGQ_API void camshaft_subscriber_close(camshaft_subscriber* subscriber);

/* Waits for messages until `deadline_ns`, then takes them: CAMSHAFT_DEADLINE_EXCEEDED where there
 * were none. The states are up to date in either case. */
CAMSHAFT_MSGQ_API camshaft_msgq_status camshaft_subscriber_update(camshaft_subscriber* subscriber,
                                                                  int64_t deadline_ns);

CAMSHAFT_MSGQ_API camshaft_msgq_status camshaft_subscriber_state(
    const camshaft_subscriber* subscriber, uint32_t index, camshaft_service_state* out);

/* The bytes of the message that the last update brought, until the next one; none where it brought
 * none. */
CAMSHAFT_MSGQ_API camshaft_msgq_status camshaft_subscriber_bytes(
    const camshaft_subscriber* subscriber, uint32_t index, const void** bytes, size_t* size);

/* The newest message as a line of JSON, until the next call. */
CAMSHAFT_MSGQ_API camshaft_msgq_status camshaft_subscriber_json(camshaft_subscriber* subscriber,
                                                                uint32_t index, const char** json);

/* Which services are late, by how much and since when, or not valid, and why; "" where all is well.
 * Until the next call. */
CAMSHAFT_MSGQ_API const char* camshaft_subscriber_complaint(camshaft_subscriber* subscriber);

#ifdef __cplusplus
}
#endif

#endif /* CAMSHAFT_MSGQ_CAPI_CAMSHAFT_MSGQ_H_ */
