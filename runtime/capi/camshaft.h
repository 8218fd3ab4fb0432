/* SPDX-License-Identifier: MIT
 *
 * Camshaft's C API: open a plan, open a device, open a session, run it. Stable: old programs keep
 * working with new libraries. Structures that the caller fills begin with `struct_size`, which must
 * be set to sizeof the structure, and may grow; those that the library fills never change.
 *
 * Rules
 * - Every call but the getters returns a camshaft_status; results come through the last pointers,
 *   which are written on success only. camshaft_last_error() then says in a sentence what was wrong
 *   and what to do.
 * - What a session needs of its plan and its device stays until it is closed: they may be closed
 *   in any order. Closing a null pointer is allowed.
 * - One thread at a time may use a session or a device, or two sessions of one device.
 * - "Hot path": does not allocate unless it fails, and on a CPU device with one thread makes no
 *   system call.
 */
#ifndef CAMSHAFT_RUNTIME_CAPI_CAMSHAFT_H_
#define CAMSHAFT_RUNTIME_CAPI_CAMSHAFT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAMSHAFT_API __attribute__((visibility("default")))
#define CAMSHAFT_VERSION_MAJOR 0
#define CAMSHAFT_VERSION_MINOR 1
#define CAMSHAFT_VERSION_PATCH 0

typedef struct camshaft_plan camshaft_plan;
typedef struct camshaft_device camshaft_device;
typedef struct camshaft_session camshaft_session;

/* Integers of a fixed size: no value is invalid, and no compiler option changes the layout. */
typedef int32_t camshaft_status;
enum {
  CAMSHAFT_OK = 0,
  CAMSHAFT_INVALID_ARGUMENT = 1,
  CAMSHAFT_UNSUPPORTED = 2,
  CAMSHAFT_WRONG_TARGET = 3, /* the plan is for another device, or the device is absent */
  CAMSHAFT_OUT_OF_TOLERANCE = 4,
  CAMSHAFT_DEADLINE_EXCEEDED = 5,
  CAMSHAFT_CORRUPT = 6, /* a damaged file */
  CAMSHAFT_NOT_FOUND = 7,
  CAMSHAFT_IO = 8,
  CAMSHAFT_OUT_OF_MEMORY = 9,
  CAMSHAFT_DEVICE_FAULT = 10, /* until camshaft_session_recover() */
  CAMSHAFT_INTERNAL = 11,
  /* A run needs more than a bound that the plan was compiled with allows, or its data gives
   * operands extents that don't fit together: it has no outputs. */
  CAMSHAFT_BOUND_EXCEEDED = 12,
  CAMSHAFT_BUSY = 13
};

/* Numbers of the plan format. */
typedef uint32_t camshaft_dtype;
enum {
  CAMSHAFT_FLOAT32 = 0,
  CAMSHAFT_FLOAT64 = 1,
  CAMSHAFT_FLOAT16 = 2,
  CAMSHAFT_BFLOAT16 = 3,
  CAMSHAFT_INT8 = 4,
  CAMSHAFT_INT16 = 5,
  CAMSHAFT_INT32 = 6,
  CAMSHAFT_INT64 = 7,
  CAMSHAFT_UINT8 = 8,
  CAMSHAFT_UINT16 = 9,
  CAMSHAFT_UINT32 = 10,
  CAMSHAFT_UINT64 = 11,
  CAMSHAFT_BOOL = 12
};

/* An input or output: dense, row-major. Where an extent depends on data, `shape` has the most that
 * it can be: see camshaft_session_output_extents(). Pointers live as long as the plan. */
typedef struct camshaft_tensor_info {
  const char* name;
  camshaft_dtype dtype;
  uint32_t rank;
  const int64_t* shape;
  uint64_t size_bytes;
  const char* unit; /* "" if none is known */
} camshaft_tensor_info;

/* A named part of an output. */
typedef struct camshaft_slice_info {
  const char* name;
  uint32_t rank;
  const int64_t* shape;
  uint64_t offset_bytes; /* from the output's start */
  uint64_t size_bytes;
  const char* unit;
} camshaft_slice_info;

typedef struct camshaft_device_options {
  size_t struct_size;
  uint32_t threads;   /* CPU: threads that share the work, the caller's among them; 0: all usable */
  uint32_t cpu_count; /* CPU: 0, or the length of `cpus` */
  const uint32_t* cpus;   /* a CPU for each thread; the first is for the caller, who pins itself */
  uint32_t no_huge_pages; /* CPU: 1 leaves large buffers on ordinary pages */
} camshaft_device_options;

/* A queue that the caller already works with. The handles are those of the backend's API. */
typedef struct camshaft_queue {
  size_t struct_size;
  void* context; /* OpenCL: cl_context */
  void* device;  /* OpenCL: cl_device_id, of the context */
  void* queue;   /* OpenCL: cl_command_queue that executes in order */
} camshaft_queue;

typedef uint32_t camshaft_memory_kind;
enum {
  CAMSHAFT_MEMORY_HOST_POINTER = 0,
  CAMSHAFT_MEMORY_DMA_BUF = 1,   /* a file descriptor, which is duplicated */
  CAMSHAFT_MEMORY_CL_BUFFER = 2, /* cl_mem, which is retained; of the device's context */
  CAMSHAFT_MEMORY_CL_IMAGE = 3,  /* likewise, for inputs that the plan reads as images */
  CAMSHAFT_MEMORY_CUDA_POINTER = 4,
  CAMSHAFT_MEMORY_GPU_ADDRESS = 5,
  CAMSHAFT_MEMORY_METAL_BUFFER = 6,
  CAMSHAFT_MEMORY_WEBGPU_BUFFER = 7,
  CAMSHAFT_MEMORY_MEMORY_FD = 8 /* of memfd_create(), which is duplicated */
};

/* Who makes writes visible to the device before a run, and the device's after it. */
typedef uint32_t camshaft_cache_sync;
enum {
  CAMSHAFT_CACHE_COHERENT = 0, /* the platform */
  CAMSHAFT_CACHE_DEVICE = 1,   /* the device's driver, around each run */
  CAMSHAFT_CACHE_OWNER = 2     /* the memory's owner */
};

/* Memory of the caller's. */
typedef struct camshaft_memory {
  size_t struct_size;
  camshaft_memory_kind kind;
  uint32_t writable;        /* 1: may be bound to outputs */
  uint64_t handle;          /* the pointer, descriptor or object */
  uint64_t size_bytes;      /* from `offset_bytes` on; images: 0 */
  uint64_t offset_bytes;    /* a multiple of 64; some devices want 4096 for host pointers */
  uint64_t row_pitch_bytes; /* 0, or what the tensor's or image's row pitch must be */
  uint32_t format;          /* images: 0, or the DRM fourcc that it must have */
  camshaft_cache_sync sync;
  /* Called once, by the call that ends the use: release, recover or close. May be NULL. */
  void (*on_release)(void* context);
  void* release_context;
  /* Images: RGBA texels of float32, float16 or uint8 elements. */
  uint32_t image_width; /* texels */
  uint32_t image_height;
  camshaft_dtype image_dtype;
} camshaft_memory;

typedef struct camshaft_session_options {
  size_t struct_size;
  const char* target; /* "llvm:znver3" or "llvm"; NULL: the plan's first target that fits */
} camshaft_session_options;

typedef struct camshaft_run_options {
  size_t struct_size;
  int64_t deadline_ns;   /* absolute, on camshaft_now_ns()'s clock; 0: none */
  int64_t input_time_ns; /* when the inputs were captured; 0: now */
  uint32_t entry;        /* camshaft_session_entry_index(); 0: "run" */
} camshaft_run_options;

typedef struct camshaft_run_result {
  uint64_t sequence; /* of this run, from 1 */
  int64_t done_time_ns;
  int64_t age_ns; /* of the inputs, when the run was done */
  uint32_t late;  /* 1: done after the deadline */
} camshaft_run_result;

/* "0.1.0". Static storage. */
CAMSHAFT_API const char* camshaft_version(void);
/* "wrong target". Static storage. */
CAMSHAFT_API const char* camshaft_status_name(camshaft_status status);
/* What the last failing call of this thread had to say; "" before the first. Valid until this
 * thread's next failing call. */
CAMSHAFT_API const char* camshaft_last_error(void);
/* CLOCK_MONOTONIC, in nanoseconds. Hot path. */
CAMSHAFT_API int64_t camshaft_now_ns(void);

/* Maps and checks a plan file. `public_key`: 32 bytes, to require a signature by that key, or NULL.
 */
CAMSHAFT_API camshaft_status camshaft_plan_open(const char* path, const uint8_t* public_key,
                                                camshaft_plan** plan);
CAMSHAFT_API void camshaft_plan_close(camshaft_plan* plan);
CAMSHAFT_API uint32_t camshaft_plan_input_count(const camshaft_plan* plan);
CAMSHAFT_API uint32_t camshaft_plan_output_count(const camshaft_plan* plan);
CAMSHAFT_API camshaft_status camshaft_plan_input(const camshaft_plan* plan, uint32_t index,
                                                 camshaft_tensor_info* info);
CAMSHAFT_API camshaft_status camshaft_plan_output(const camshaft_plan* plan, uint32_t index,
                                                  camshaft_tensor_info* info);
/* Slices of an output; 0 for an unknown output. */
CAMSHAFT_API uint32_t camshaft_plan_slice_count(const camshaft_plan* plan, uint32_t output);
CAMSHAFT_API camshaft_status camshaft_plan_slice(const camshaft_plan* plan, uint32_t output,
                                                 uint32_t index, camshaft_slice_info* info);
/* By name: the index. */
CAMSHAFT_API camshaft_status camshaft_plan_input_index(const camshaft_plan* plan, const char* name,
                                                       uint32_t* index);
CAMSHAFT_API camshaft_status camshaft_plan_output_index(const camshaft_plan* plan, const char* name,
                                                        uint32_t* index);

/* "cpu", "null", ...; "NAME:1" is the second device of a kind. `options` may be NULL. */
CAMSHAFT_API camshaft_status camshaft_device_open(const char* name,
                                                  const camshaft_device_options* options,
                                                  camshaft_device** device);
/* Opens a device that works in the caller's queue, in order with the caller's own commands; `name`
 * is the backend's, "opencl". Context and queue are retained until the device is closed; no other
 * thread may use the queue meanwhile. */
CAMSHAFT_API camshaft_status camshaft_device_open_on(const char* name, const camshaft_queue* queue,
                                                     camshaft_device** device);
CAMSHAFT_API void camshaft_device_close(camshaft_device* device);

/* Loads, allocates and records everything that runs need. `options` may be NULL. */
CAMSHAFT_API camshaft_status camshaft_session_open(camshaft_plan* plan, camshaft_device* device,
                                                   const camshaft_session_options* options,
                                                   camshaft_session** session);
CAMSHAFT_API void camshaft_session_close(camshaft_session* session);
CAMSHAFT_API camshaft_status camshaft_session_entry_index(const camshaft_session* session,
                                                          const char* name, uint32_t* entry);

/* Copies a tensor into an input; refuses a wrong dtype, shape or size. Hot path. */
CAMSHAFT_API camshaft_status camshaft_session_set_input(camshaft_session* session, uint32_t input,
                                                        camshaft_dtype dtype, const int64_t* shape,
                                                        uint32_t rank, const void* data,
                                                        uint64_t size_bytes);
/* The session's own memory of an input, 64-byte aligned, to be written in place. Hot path. */
CAMSHAFT_API camshaft_status camshaft_session_input_data(camshaft_session* session, uint32_t input,
                                                         void** data, uint64_t* size_bytes);

/* Lets the device use memory of the caller's without a copy, once for each camera buffer, say.
 * `data` is aligned to 64 bytes and stays valid until it is released or the session is closed. */
CAMSHAFT_API camshaft_status camshaft_session_import_host(camshaft_session* session, void* data,
                                                          uint64_t size_bytes, uint32_t writable,
                                                          uint32_t* memory);
/* The same of any kind of memory. CAMSHAFT_UNSUPPORTED, with the reason, where the device can't use
 * it in place; nothing is copied, kept or called then. While a run goes on, nobody else writes to
 * memory that is bound. */
CAMSHAFT_API camshaft_status camshaft_session_import(camshaft_session* session,
                                                     const camshaft_memory* memory,
                                                     uint32_t* imported);
/* Ends that; the memory must not be bound. */
CAMSHAFT_API camshaft_status camshaft_session_release(camshaft_session* session, uint32_t memory);
/* Makes runs read or write imported memory, another one for each run if need be; memory 0: the
 * session's own again. Refuses memory that is too small, of another row pitch, read-only for an
 * output, released, or imported by another session. Hot path. */
CAMSHAFT_API camshaft_status camshaft_session_bind_input(camshaft_session* session, uint32_t input,
                                                         uint32_t memory);
CAMSHAFT_API camshaft_status camshaft_session_bind_output(camshaft_session* session,
                                                          uint32_t output, uint32_t memory);

/* Runs an entry point to its end. `options` and `result` may be NULL. Hot path. */
CAMSHAFT_API camshaft_status camshaft_session_run(camshaft_session* session,
                                                  const camshaft_run_options* options,
                                                  camshaft_run_result* result);
/* Waits for a run that returned CAMSHAFT_DEADLINE_EXCEEDED. `result` may be NULL. Hot path. */
CAMSHAFT_API camshaft_status camshaft_session_collect(camshaft_session* session,
                                                      int64_t deadline_ns,
                                                      camshaft_run_result* result);
/* What the last run wrote; where it failed, its status. Valid until the next run. Hot path. */
CAMSHAFT_API camshaft_status camshaft_session_output(const camshaft_session* session,
                                                     uint32_t output, const void** data,
                                                     uint64_t* size_bytes);
/* How long each axis of an output was in the last run: as its shape says, except where that depends
 * on data; elements beyond mean nothing. `extents` has room for `rank` numbers, `rank` being the
 * output's. `counted_axes`, unless NULL, gets bit i for each axis i whose extent depends on data;
 * with `extents` NULL that is all, and may be asked for before a run. Hot path. */
CAMSHAFT_API camshaft_status camshaft_session_output_extents(const camshaft_session* session,
                                                             uint32_t output, int64_t* extents,
                                                             uint32_t rank, uint32_t* counted_axes);
/* Zeroes what the model remembers between runs. Hot path. */
CAMSHAFT_API camshaft_status camshaft_session_reset_states(camshaft_session* session);
/* After CAMSHAFT_DEVICE_FAULT: ready again, with states zeroed and imported memory gone. */
CAMSHAFT_API camshaft_status camshaft_session_recover(camshaft_session* session);

#ifdef __cplusplus
}
#endif

#endif /* CAMSHAFT_RUNTIME_CAPI_CAMSHAFT_H_ */
