/*
 * rimms in C: allocate once, say what is to be done, never write a copy.
 *
 * hete_  data (the paper's interface), events, ops of your own, errors
 * CEDR_  the calls, by CEDR's names
 * rimms_ the runtime: settings, what was counted, what there is
 *
 * A call returns HETE_OK, or a code; hete_LastErrorMessage says the rest. Handles (hete_Data *, events, ops) may be
 * anything at all: what is none is an error. Other pointers must be what is said of them. Any thread may call anything.
 *
 * Made from the library's sources: do not edit.
 */

#ifndef HETE_H
#define HETE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Version of this header, to be compared with `rimms_Version`.
 */
#define RIMMS_VERSION_MAJOR 0

/**
 * See `RIMMS_VERSION_MAJOR`.
 */
#define RIMMS_VERSION_MINOR 1

/**
 * See `RIMMS_VERSION_MAJOR`.
 */
#define RIMMS_VERSION_PATCH 0

/**
 * What became of a call. Everything but `HETE_OK` comes with a message: `hete_LastErrorMessage`.
 */
typedef enum hete_Error {
  /**
   * It was done, or accepted.
   */
  HETE_OK = 0,
  /**
   * A pointer is NULL, or not aligned, where one is needed.
   */
  HETE_ERROR_NULL = 1,
  /**
   * A pointer or number that this library never gave out.
   */
  HETE_ERROR_HANDLE = 2,
  /**
   * It was given out, and is freed by now: freed twice, used after `hete_Free`, or a fragment of data that was divided
   * anew or joined since.
   */
  HETE_ERROR_FREED = 3,
  /**
   * An index beyond the end.
   */
  HETE_ERROR_INDEX = 4,
  /**
   * Sizes or counts that do not fit together.
   */
  HETE_ERROR_SHAPE = 5,
  /**
   * What the call writes overlaps another of its operands.
   */
  HETE_ERROR_OVERLAP = 6,
  /**
   * A value that is none of those allowed.
   */
  HETE_ERROR_ARGUMENT = 7,
  /**
   * Not an event of a call that was accepted.
   */
  HETE_ERROR_EVENT = 8,
  /**
   * A name that is not known: the message lists those that are.
   */
  HETE_ERROR_UNKNOWN = 9,
  /**
   * The configuration cannot be.
   */
  HETE_ERROR_CONFIG = 10,
  /**
   * It has to be said before the runtime starts.
   */
  HETE_ERROR_STARTED = 11,
  /**
   * The host has no room.
   */
  HETE_ERROR_MEMORY = 12,
  /**
   * A device has no room, now or ever.
   */
  HETE_ERROR_DEVICE_MEMORY = 13,
  /**
   * Bytes that nobody has written, or that the call that was to write them did not.
   */
  HETE_ERROR_UNINITIALISED = 14,
  /**
   * No processing element can run the call.
   */
  HETE_ERROR_NO_PE = 15,
  /**
   * It would wait for itself: made inside a kernel, for what that kernel's call uses or has to wait for.
   */
  HETE_ERROR_DEADLOCK = 16,
  /**
   * A device failed, or is lost.
   */
  HETE_ERROR_DEVICE = 17,
  /**
   * A kernel of the program's said that it failed.
   */
  HETE_ERROR_KERNEL = 18,
  /**
   * A file could not be read or written.
   */
  HETE_ERROR_FILE = 19,
  /**
   * A defect of the library. Please report it with the message.
   */
  HETE_ERROR_INTERNAL = 20,
} hete_Error;

/**
 * What a call does with an operand.
 */
typedef enum hete_Role {
  /**
   * It reads it.
   */
  HETE_IN = 0,
  /**
   * It writes every byte, and reads none.
   */
  HETE_OUT = 1,
  /**
   * It reads and writes it.
   */
  HETE_INOUT = 2,
} hete_Role;

/**
 * What `CEDR_ZIP_flt` does with two elements. All but the last are CEDR's.
 */
typedef enum hete_ZipOp {
  /**
   * `a + b`
   */
  ZIP_ADD = 0,
  /**
   * `a − b`
   */
  ZIP_SUB = 1,
  /**
   * `a · b`
   */
  ZIP_MULT = 2,
  /**
   * `a / b`
   */
  ZIP_DIV = 3,
  /**
   * The same as `ZIP_MULT`: CEDR's other name for the complex product.
   */
  ZIP_CMP_MULT = 4,
  /**
   * `a · conj(b)`
   */
  ZIP_CONJ_MULT = 5,
} hete_ZipOp;

/**
 * What elements are.
 */
typedef enum hete_Type {
  /**
   * `float`
   */
  HETE_REAL = 0,
  /**
   * Two of them, real and imaginary part: `float complex`, `std::complex<float>`.
   */
  HETE_COMPLEX = 1,
} hete_Type;

/**
 * Where a kernel may run: either, or both together with `|`.
 */
typedef enum hete_Where {
  /**
   * On a CPU.
   */
  HETE_ON_CPU = 1,
  /**
   * On a simulated accelerator, with the operands in its memory.
   */
  HETE_ON_SIM = 2,
} hete_Where;

/**
 * Told of each error, in the thread where it happened, before the call that failed returns. `message` is valid until the
 * handler returns. Not called while it runs already in the same thread.
 */
typedef void (*hete_ErrorHandler)(enum hete_Error error, const char *message, void *user);

/**
 * Data that is allocated once (the paper's `hete_Data`), or a fragment of it. Made by `hete_Malloc`, `hete_Index`.
 *
 * For reading only. When the host's bytes are the newest, and when they may be written, says `hete_Sync`.
 */
typedef struct hete_Data {
  /**
   * The host's bytes, aligned to 64 for what `hete_Malloc` gave; NULL once freed.
   */
  void *data;
  /**
   * How many there are; 0 once freed.
   */
  size_t size;
} hete_Data;

/**
 * A call that was accepted: a plain value, to be copied, kept or thrown away. Set by the calls whose names end in `_nb`.
 * All zeros is none.
 */
typedef struct hete_Event {
  /**
   * Of the library's own.
   */
  uint64_t runtime;
  /**
   * Of the library's own.
   */
  uint64_t call;
} hete_Event;

/**
 * An operand as a kernel gets it.
 */
typedef struct hete_Operand {
  /**
   * Its bytes: to be read, or written, as the role says. Aligned as the data is.
   */
  void *data;
  /**
   * How many.
   */
  size_t size;
  /**
   * As declared.
   */
  enum hete_Role role;
} hete_Operand;

/**
 * A kernel: returns 0 if it did its work; anything else fails the call. Runs in any thread, several at a time; it may use
 * the interface for other data than its call's, and what would wait for its own call is an error there. No exception and no
 * `longjmp` leaves it.
 */
typedef int (*hete_Kernel)(const struct hete_Operand *operands,
                           size_t count,
                           const void *params,
                           size_t params_size,
                           void *user);

/**
 * An op of the program's own: a number, as `hete_OpCreate` gives it. 0 is none.
 */
typedef struct hete_Op {
  /**
   * Of the library's own.
   */
  uint64_t id;
} hete_Op;

/**
 * Copies, and bytes that they moved.
 */
typedef struct rimms_Flow {
  /**
   * Copies.
   */
  uint64_t copies;
  /**
   * Bytes.
   */
  uint64_t bytes;
} rimms_Flow;

/**
 * What was done since the runtime started. Calls that are not done yet are not in it.
 */
typedef struct rimms_Stats {
  /**
   * All copies.
   */
  struct rimms_Flow all;
  /**
   * From the host to devices.
   */
  struct rimms_Flow host_to_device;
  /**
   * From devices to the host.
   */
  struct rimms_Flow device_to_host;
  /**
   * Between devices, and within one.
   */
  struct rimms_Flow device_to_device;
  /**
   * Calls that succeeded.
   */
  uint64_t calls;
  /**
   * Operands whose state was looked at before a call.
   */
  uint64_t checks;
  /**
   * Calls that failed on one PE and were tried on another.
   */
  uint64_t retries;
  /**
   * Blocks that made room for others on a device.
   */
  uint64_t evictions;
} rimms_Stats;

/**
 * What `hete_ArgMax` finds.
 */
typedef struct hete_Peak {
  /**
   * Where the largest element is, from 0.
   */
  uint64_t index;
  /**
   * How large it is.
   */
  double value;
} hete_Peak;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * What went wrong last in this thread; `HETE_OK` if nothing has. A call that succeeds leaves it as it is.
 */
enum hete_Error hete_LastError(void);

/**
 * The same in words: what was wanted, what was found, what to do. Never NULL; valid until the next error in this thread.
 */
const char *hete_LastErrorMessage(void);

/**
 * The name of an error code, such as `HETE_ERROR_SHAPE`; `"unknown"` for any other number. Never NULL, always valid.
 */
const char *hete_ErrorName(int error);

/**
 * From now on `handler` is told of every error, in any thread, with `user`; NULL to tell nobody. What it is must stay
 * valid until another one was set and calls that were under way then are done.
 */
enum hete_Error hete_SetErrorHandler(hete_ErrorHandler handler,
                                     void *user);

/**
 * Allocates `size` bytes, like `malloc`: what they are is not said until they are written. `hete_Free` gives them back.
 *
 * The data is the host's: the program may write through `data` whenever it likes, until a call writes it, or is accepted
 * without being waited for. Devices get room when they first use it.
 *
 * Returns NULL where it fails: `HETE_ERROR_SHAPE` for 0 bytes, `HETE_ERROR_MEMORY`, and, by the first call of all, what
 * is wrong with the configuration.
 */
struct hete_Data *hete_Malloc(size_t size);

/**
 * The same for `count` times `size` bytes, all of them 0.
 */
struct hete_Data *hete_Calloc(size_t count, size_t size);

/**
 * Frees data, its copies on all devices, and the handles of its fragments. NULL is freed by doing nothing.
 *
 * Calls that were accepted keep what they need until they are done. Another thread's call that has not returned is
 * waited for. Fragments are freed with the data they belong to, and not by themselves.
 */
enum hete_Error hete_Free(struct hete_Data *data);

/**
 * Brings the newest bytes to `data->data`, and makes the host their owner: from here on the program may read and write
 * there, until a call writes the data or is accepted without being waited for. Waits for the calls that use it.
 *
 * Other copies are stale from here on; and since the program may write at any time, each call that reads the data on a
 * device copies it there. `hete_Read`, `hete_Write` and `hete_Update` say more closely what is going to be done, and save
 * copies.
 *
 * `HETE_ERROR_UNINITIALISED`, with the reason, where the call that was to write the bytes failed: `hete_Write` makes
 * them the program's again.
 */
enum hete_Error hete_Sync(struct hete_Data *data);

/**
 * Brings the newest bytes to `data->data` for reading. Copies elsewhere stay valid. Waits for the calls that write it.
 *
 * The program reads there until a call writes the data, and writes nothing.
 */
enum hete_Error hete_Read(struct hete_Data *data);

/**
 * Makes `data->data` the program's to write, all of it: nothing is copied in, and what was there before is lost. Waits
 * for the calls that use it.
 *
 * The program writes there until it next hands the data, or a part of it, to a call.
 */
enum hete_Error hete_Write(struct hete_Data *data);

/**
 * Brings the newest bytes to `data->data` for reading and writing. Waits for the calls that use it.
 *
 * The program reads and writes there until it next hands the data, or a part of it, to a call. From then on it is as
 * any other data: a call that reads it on a device copies it there once.
 */
enum hete_Error hete_Update(struct hete_Data *data);

/**
 * Divides data into `n` fragments of equal size, each with newest bytes of its own: O(n), no device is asked. They are
 * had with `hete_Index`. Data that is divided already is joined first, and its former fragments' handles are freed. A
 * fragment may be divided in turn. Waits for the calls that use the data.
 *
 * `HETE_ERROR_SHAPE` where `n` is 0 or does not divide the size.
 */
enum hete_Error hete_Fragment(struct hete_Data *data,
                              size_t n);

/**
 * The same with `n` fragments of these sizes in bytes, which add up to that of the data.
 *
 * # Safety
 * `sizes` is NULL, or an array of `n` numbers.
 */
enum hete_Error hete_FragmentSizes(struct hete_Data *data, const size_t *sizes, size_t n);

/**
 * Divides a matrix into tiles: its rows are of `columns` elements of `size` bytes, the tiles of `height` rows and `width`
 * columns. Tile (i, j), from 0, is fragment `i · (columns / width) + j`.
 *
 * A tile is used as any other data: its elements are those of its rows, one row after the other, and its `size` their bytes.
 * But in the host's memory they do not follow each other: row `r` of a tile is at `data + r · hete_Pitch(tile)`. A tile may
 * be divided in turn, by whole rows with `hete_Fragment`, or into tiles.
 *
 * `HETE_ERROR_SHAPE` where the tiles do not make up the matrix.
 */
enum hete_Error hete_Tile(struct hete_Data *data,
                          size_t size,
                          size_t columns,
                          size_t height,
                          size_t width);

/**
 * The same with tiles of different sizes: `rows` heights, and `columns` widths in elements of `size` bytes. Tile (i, j) is
 * fragment `i · columns + j`.
 *
 * # Safety
 * `heights` and `widths` are NULL, or arrays of so many numbers.
 */
enum hete_Error hete_TileSizes(struct hete_Data *data,
                               size_t size,
                               const size_t *heights,
                               size_t rows,
                               const size_t *widths,
                               size_t columns);

/**
 * How many rows a tile has; 1 for data that is none, 0 on an error.
 */
size_t hete_RowCount(const struct hete_Data *data);

/**
 * Bytes from the beginning of a row to that of the next, in the host's memory: of data that is no tile, its size. 0 on an
 * error.
 */
size_t hete_Pitch(const struct hete_Data *data);

/**
 * Makes divided data whole again; its fragments' handles are freed. Costs nothing where they agree on who has the newest
 * bytes; those that lie elsewhere than the others are copied to the host first. Waits for the calls that use the data.
 */
enum hete_Error hete_Join(struct hete_Data *data);

/**
 * The handle of fragment `i`, from 0: the same each time, until the data is divided anew, joined or freed. NULL where
 * there is none, or the data is not divided (`HETE_ERROR_INDEX`).
 */
struct hete_Data *hete_Index(struct hete_Data *data,
                             size_t i);

/**
 * How many fragments data is divided into; 0 where it is not divided, or on an error.
 */
size_t hete_FragmentCount(const struct hete_Data *data);

/**
 * The resource that wrote the data last (the paper's flag): 0 is the host, others are numbered as `rimms_ResourceName`
 * counts. −1 where nobody has, the fragments differ, or on an error.
 *
 * Of a moment: calls that are under way may change it.
 */
int32_t hete_LastResource(const struct hete_Data *data);

/**
 * The resources that have the newest bytes of the data: bit `r` stands for resource `r`. 0 where nobody has all of them,
 * or on an error. Of a moment, too.
 */
uint64_t hete_ValidSet(const struct hete_Data *data);

/**
 * Where the data lies on a resource: `data->data` for the host, an address of the device's own for others. 0 where it has
 * no place there, or not in one piece, or on an error. The bytes there may be stale: see `hete_ValidSet`.
 */
uint64_t hete_ResourcePointer(const struct hete_Data *data,
                              size_t resource);

/**
 * Returns when the call is done, with what became of it. May be asked again.
 */
enum hete_Error hete_Wait(struct hete_Event event);

/**
 * Returns when all `n` calls are done; where some have failed, with the error of the first of them.
 *
 * # Safety
 * `events` is an array of `n`.
 */
enum hete_Error hete_WaitAll(const struct hete_Event *events, size_t n);

/**
 * Returns when one of `n` calls is done, and stores which. What became of it says `hete_Wait`.
 *
 * `HETE_ERROR_INDEX` where there are none.
 *
 * # Safety
 * `given` is an array of `n`, `first` a place for a number.
 */
enum hete_Error hete_WaitAny(const struct hete_Event *given, size_t n, size_t *first);

/**
 * 1 where the call is done, 0 where it is not, −1 where there is no such event. Does not wait.
 */
int32_t hete_IsDone(struct hete_Event event);

/**
 * Returns when every call that was accepted before is done. What became of them is told by their events and data.
 */
enum hete_Error hete_Finish(void);

/**
 * Fourier transforms of `n` complex points, of each row of `n` in `input`; backwards, and divided by `n`, where `forward` is
 * false. `output` may be `input`.
 *
 * Forward: `y[k] = Σ x[j]·exp(−2πi·jk/n)`.
 */
enum hete_Error CEDR_FFT_flt(struct hete_Data *input,
                             struct hete_Data *output,
                             size_t n,
                             bool forward);

/**
 * `CEDR_FFT_flt`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error CEDR_FFT_flt_nb(struct hete_Data *input,
                                struct hete_Data *output,
                                size_t n,
                                bool forward,
                                struct hete_Event *event);

/**
 * `output = a ∘ b`, element by element, for `n` complex elements; `op` is one of `hete_ZipOp`. `b` may be shorter, if its
 * length divides `n`: one row for all rows of `a`.
 */
enum hete_Error CEDR_ZIP_flt(struct hete_Data *a,
                             struct hete_Data *b,
                             struct hete_Data *output,
                             size_t n,
                             int op);

/**
 * `CEDR_ZIP_flt`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error CEDR_ZIP_flt_nb(struct hete_Data *a,
                                struct hete_Data *b,
                                struct hete_Data *output,
                                size_t n,
                                int op,
                                struct hete_Event *event);

/**
 * The matrix product `c = a · b` of complex matrices, row after row: `a` is `rows_a` × `cols_a`, `b` is `cols_a` × `cols_b`.
 */
enum hete_Error CEDR_GEMM_flt(struct hete_Data *a,
                              struct hete_Data *b,
                              struct hete_Data *c,
                              size_t rows_a,
                              size_t cols_a,
                              size_t cols_b);

/**
 * `CEDR_GEMM_flt`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error CEDR_GEMM_flt_nb(struct hete_Data *a,
                                 struct hete_Data *b,
                                 struct hete_Data *c,
                                 size_t rows_a,
                                 size_t cols_a,
                                 size_t cols_b,
                                 struct hete_Event *event);

/**
 * `y[i] = Σ mask[j]·x[i + j − k/2]` for `n` real elements and a mask of `k`, zeros beyond the ends; the mask is not turned
 * round.
 */
enum hete_Error CEDR_CONV_1D_flt(struct hete_Data *input,
                                 size_t n,
                                 struct hete_Data *mask,
                                 size_t k,
                                 struct hete_Data *output);

/**
 * `CEDR_CONV_1D_flt`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error CEDR_CONV_1D_flt_nb(struct hete_Data *input,
                                    size_t n,
                                    struct hete_Data *mask,
                                    size_t k,
                                    struct hete_Data *output,
                                    struct hete_Event *event);

/**
 * The same in two dimensions: `height` rows of `width` real elements, a mask of `k` × `k`.
 */
enum hete_Error CEDR_CONV_2D_flt(struct hete_Data *input,
                                 size_t height,
                                 size_t width,
                                 struct hete_Data *mask,
                                 size_t k,
                                 struct hete_Data *output);

/**
 * `CEDR_CONV_2D_flt`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error CEDR_CONV_2D_flt_nb(struct hete_Data *input,
                                    size_t height,
                                    size_t width,
                                    struct hete_Data *mask,
                                    size_t k,
                                    struct hete_Data *output,
                                    struct hete_Event *event);

/**
 * Decisions on `n` complex BPSK symbols: the float +1 where the real part is above 0, else −1.
 */
enum hete_Error CEDR_BPSK_flt(struct hete_Data *input, struct hete_Data *output, size_t n);

/**
 * `CEDR_BPSK_flt`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error CEDR_BPSK_flt_nb(struct hete_Data *input,
                                 struct hete_Data *output,
                                 size_t n,
                                 struct hete_Event *event);

/**
 * Decisions on `n` complex QAM16 symbols: the number, an `int32_t`, of the nearest one, 4·(level of the real part) +
 * (level of the imaginary part), levels from 0 at −3/√10 to 3 at 3/√10.
 */
enum hete_Error CEDR_QAM16_flt(struct hete_Data *input,
                               struct hete_Data *output,
                               size_t n);

/**
 * `CEDR_QAM16_flt`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error CEDR_QAM16_flt_nb(struct hete_Data *input,
                                  struct hete_Data *output,
                                  size_t n,
                                  struct hete_Event *event);

/**
 * `c = a + b`, for complex matrices of `rows` × `cols`.
 */
enum hete_Error CEDR_MADD_flt(struct hete_Data *a,
                              struct hete_Data *b,
                              struct hete_Data *c,
                              size_t rows,
                              size_t cols);

/**
 * `CEDR_MADD_flt`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error CEDR_MADD_flt_nb(struct hete_Data *a,
                                 struct hete_Data *b,
                                 struct hete_Data *c,
                                 size_t rows,
                                 size_t cols,
                                 struct hete_Event *event);

/**
 * `c = a − b`, for complex matrices of `rows` × `cols`.
 */
enum hete_Error CEDR_MSUB_flt(struct hete_Data *a,
                              struct hete_Data *b,
                              struct hete_Data *c,
                              size_t rows,
                              size_t cols);

/**
 * `CEDR_MSUB_flt`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error CEDR_MSUB_flt_nb(struct hete_Data *a,
                                 struct hete_Data *b,
                                 struct hete_Data *c,
                                 size_t rows,
                                 size_t cols,
                                 struct hete_Event *event);

/**
 * The corner turn `y[c][r] = x[r][c]` of a complex matrix of `rows` × `cols`; conjugated too, if `conjugate`.
 */
enum hete_Error CEDR_TRANSPOSE_flt(struct hete_Data *input,
                                   struct hete_Data *output,
                                   size_t rows,
                                   size_t cols,
                                   bool conjugate);

/**
 * `CEDR_TRANSPOSE_flt`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error CEDR_TRANSPOSE_flt_nb(struct hete_Data *input,
                                      struct hete_Data *output,
                                      size_t rows,
                                      size_t cols,
                                      bool conjugate,
                                      struct hete_Event *event);

/**
 * `output = a ∘ b` as `CEDR_ZIP_flt`, for `n` elements of a `hete_Type`; `op` is one of `hete_ZipOp`, of which
 * `ZIP_CONJ_MULT` is `ZIP_MULT` where they are real.
 */
enum hete_Error hete_Zip(struct hete_Data *a,
                         struct hete_Data *b,
                         struct hete_Data *output,
                         size_t n,
                         int op,
                         int element);

/**
 * `hete_Zip`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error hete_Zip_nb(struct hete_Data *a,
                            struct hete_Data *b,
                            struct hete_Data *output,
                            size_t n,
                            int op,
                            int element,
                            struct hete_Event *event);

/**
 * The matrix product `c = a · b` as `CEDR_GEMM_flt`, for elements of a `hete_Type`.
 */
enum hete_Error hete_Gemm(struct hete_Data *a,
                          struct hete_Data *b,
                          struct hete_Data *c,
                          size_t rows_a,
                          size_t cols_a,
                          size_t cols_b,
                          int element);

/**
 * `hete_Gemm`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error hete_Gemm_nb(struct hete_Data *a,
                             struct hete_Data *b,
                             struct hete_Data *c,
                             size_t rows_a,
                             size_t cols_a,
                             size_t cols_b,
                             int element,
                             struct hete_Event *event);

/**
 * The corner turn `y[c][r] = x[r][c]` as `CEDR_TRANSPOSE_flt`, for elements of a `hete_Type`.
 */
enum hete_Error hete_Transpose(struct hete_Data *input,
                               struct hete_Data *output,
                               size_t rows,
                               size_t cols,
                               int element);

/**
 * `hete_Transpose`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error hete_Transpose_nb(struct hete_Data *input,
                                  struct hete_Data *output,
                                  size_t rows,
                                  size_t cols,
                                  int element,
                                  struct hete_Event *event);

/**
 * Each row of `n` elements turned by `n/2`, so that frequency 0 comes to the middle. `element` is one of `hete_Type`.
 */
enum hete_Error hete_FftShift(struct hete_Data *input,
                              struct hete_Data *output,
                              size_t n,
                              int element);

/**
 * `hete_FftShift`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error hete_FftShift_nb(struct hete_Data *input,
                                 struct hete_Data *output,
                                 size_t n,
                                 int element,
                                 struct hete_Event *event);

/**
 * `y = (re + i·im) · x`, for elements of a `hete_Type`; real ones take no imaginary part. `output` may be `input`.
 */
enum hete_Error hete_Scale(struct hete_Data *input,
                           struct hete_Data *output,
                           float re,
                           float im,
                           int element);

/**
 * `hete_Scale`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error hete_Scale_nb(struct hete_Data *input,
                              struct hete_Data *output,
                              float re,
                              float im,
                              int element,
                              struct hete_Event *event);

/**
 * `y = |x|`: `n` floats from `n` complex elements.
 */
enum hete_Error hete_Magnitude(struct hete_Data *input, struct hete_Data *output, size_t n);

/**
 * `hete_Magnitude`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error hete_Magnitude_nb(struct hete_Data *input,
                                  struct hete_Data *output,
                                  size_t n,
                                  struct hete_Event *event);

/**
 * Where the largest of `n` floats is, and how large: one `hete_Peak`. The first of equals; NaN is never the largest.
 */
enum hete_Error hete_ArgMax(struct hete_Data *input,
                            struct hete_Data *peak,
                            size_t n);

/**
 * `hete_ArgMax`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error hete_ArgMax_nb(struct hete_Data *input,
                               struct hete_Data *peak,
                               size_t n,
                               struct hete_Event *event);

/**
 * `output = input`, both of the same size.
 */
enum hete_Error hete_Copy(struct hete_Data *input, struct hete_Data *output);

/**
 * `hete_Copy`, not waited for.
 *
 * # Safety
 * `event` is NULL, or a place for one.
 */
enum hete_Error hete_Copy_nb(struct hete_Data *input, struct hete_Data *output, struct hete_Event *event);

/**
 * Every element of `output` becomes the one of `size` bytes at `pattern`: 1, 4 or 8.
 *
 * # Safety
 * `pattern` is NULL, or that many bytes.
 */
enum hete_Error hete_Fill(struct hete_Data *output, const void *pattern, size_t size);

/**
 * `hete_Fill`, not waited for.
 *
 * # Safety
 * `pattern` is as there; `event` is NULL, or a place for one.
 */
enum hete_Error hete_Fill_nb(struct hete_Data *output,
                             const void *pattern,
                             size_t size,
                             struct hete_Event *event);

/**
 * From now on this thread's calls go to these PEs only: names and kinds, with commas between, as for the setting `on`, which
 * does not count then. NULL: to those of the setting again. For one call, say it before that, and NULL after it.
 *
 * It is forgotten when the runtime ends. `HETE_ERROR_UNKNOWN` where there is no such PE; a call that none of them can run is
 * `HETE_ERROR_NO_PE`.
 *
 * # Safety
 * `pes` is NULL or a text.
 */
enum hete_Error hete_On(const char *pes);

/**
 * Declares an op: a name for messages, the `n` roles of its operands (`hete_Role`), where its kernel may run
 * (`hete_Where`), and the kernel, which is given `user`. Stores what it is called by.
 *
 * # Safety
 * `name` is a text, `roles` an array of `n`, `op` a place for one. The kernel may run in any thread, and uses no more than
 * it is given; it and `user` stay valid until the op is destroyed and its calls are done.
 */
enum hete_Error hete_OpCreate(const char *name,
                              const int *roles,
                              size_t n,
                              int places,
                              hete_Kernel kernel,
                              void *user,
                              struct hete_Op *op);

/**
 * Destroys an op. Calls of it that were accepted are done all the same.
 */
enum hete_Error hete_OpDestroy(struct hete_Op op);

/**
 * Calls an op on `n` operands, in the order of its roles, with `params_size` bytes of parameters, which are copied. Returns
 * when it is done; `HETE_ERROR_KERNEL` where the kernel failed.
 *
 * # Safety
 * `operands` is an array of `n`, `params` NULL or that many bytes.
 */
enum hete_Error hete_Call(struct hete_Op op,
                          struct hete_Data *const *operands,
                          size_t n,
                          const void *params,
                          size_t params_size);

/**
 * `hete_Call`, not waited for.
 *
 * # Safety
 * As there; `event` is NULL, or a place for one.
 */
enum hete_Error hete_Call_nb(struct hete_Op op,
                             struct hete_Data *const *operands,
                             size_t n,
                             const void *params,
                             size_t params_size,
                             struct hete_Event *event);

/**
 * Said by a kernel before it returns something other than 0: why. Elsewhere it does nothing.
 *
 * # Safety
 * `why` is a text.
 */
enum hete_Error hete_KernelFailed(const char *why);

/**
 * Version of the library: 65536·major + 256·minor + patch.
 */
uint32_t rimms_Version(void);

/**
 * Sets what the runtime is to be made of, before it starts:
 *
 * | name | value |
 * | --- | --- |
 * | `cpus` | how many CPU PEs; by default as many as the machine has |
 * | `devices` | simulated accelerators: `acc0`, `fft0:64KiB`, `zip0:1MiB:next-fit`, with commas between |
 * | `heap` | the marking system of those that name none: `bitset`, `next-fit`, `two-level` |
 * | `memory` | `reference`, `last-resource`, `valid-set` (by default) or `zero-copy` |
 * | `policy` | `round-robin`, `random`, `met`, `eft`, `etf`, `heft-rt`, `locality` (by default) |
 * | `on` | the PEs that calls may go to, by name or kind: `cpu,acc0` |
 * | `costs` | a file with what calls took before |
 * | `fixed-costs` | `true`: goes by that file alone |
 * | `time-limit` | milliseconds that a device may be at one operation |
 * | `watchdog` | when no call was done for so many milliseconds, and some are to be, stderr is told who waits for whom |
 * | `trace` | `true`: keeps a trace for `rimms_WriteTrace` |
 *
 * The same can be set in the environment (`RIMMS_TIME_LIMIT=50`), and in a TOML file (`time-limit = 50`) that
 * `rimms_LoadSettings` or `RIMMS_CONFIG` names. A call goes before the environment, that before the file. Unknown names,
 * there too, are errors. `HETE_ERROR_STARTED` once the runtime runs.
 *
 * # Safety
 * `name` and `value` are texts.
 */
enum hete_Error rimms_Set(const char *name,
                          const char *value);

/**
 * Takes settings from a TOML file; instead of those of a file that was named before.
 *
 * # Safety
 * `file` is a text.
 */
enum hete_Error rimms_LoadSettings(const char *file);

/**
 * Starts the runtime now, which the first call does otherwise: to see at once what is wrong with the settings.
 */
enum hete_Error rimms_Start(void);

/**
 * Ends the runtime: waits for the calls that were accepted, frees all data that is left, forgets the settings made by
 * call. The next call starts another one. Ops stay. Not needed at the end of a program.
 */
enum hete_Error rimms_Shutdown(void);

/**
 * Stores what was counted so far. `size` is `sizeof(rimms_Stats)`: a library that counts more stores what fits.
 *
 * # Safety
 * `stats` is a place of `size` bytes.
 */
enum hete_Error rimms_GetStats(struct rimms_Stats *stats,
                               size_t size);

/**
 * Stores the copies from one resource to another; within one, where both are the same.
 *
 * # Safety
 * `flow` is a place for one.
 */
enum hete_Error rimms_GetFlow(size_t from, size_t to, struct rimms_Flow *flow);

/**
 * Stores the copies that had a cause: `input` (a call reads it there), `output` (mode `reference`), `host access`, `gather`
 * (parts of what a call reads lay elsewhere), `join`, `eviction`.
 *
 * # Safety
 * `cause` is a text, `flow` a place for one.
 */
enum hete_Error rimms_GetFlowByCause(const char *cause,
                                     struct rimms_Flow *flow);

/**
 * Calls that succeeded on the PE of this number; 0 on an error, too.
 */
uint64_t rimms_PeCalls(size_t pe);

/**
 * Writes what was done since the last time, or since the start, to a file that the Perfetto UI opens. Needs the setting
 * `trace`. The file NULL: forgets it.
 *
 * # Safety
 * `file` is NULL or a text.
 */
enum hete_Error rimms_WriteTrace(const char *file);

/**
 * Writes what calls took to a file, for the setting `costs`.
 *
 * # Safety
 * `file` is a text.
 */
enum hete_Error rimms_SaveCosts(const char *file);

/**
 * How many PEs (processing elements) there are; 0 on an error.
 */
size_t rimms_PeCount(void);

/**
 * The name of a PE, such as `cpu0`; NULL where there is none. Valid until this thread asks for another name.
 */
const char *rimms_PeName(size_t pe);

/**
 * The resource whose memory a PE works on; −1 where there is none.
 */
int32_t rimms_PeResource(size_t pe);

/**
 * Can a PE run an op of this name: `fft`, `zip`, `fftshift`, `transpose`, `scale`, `magnitude`, `arg-max`, `gemm`,
 * `convolve`, `decide`, `copy`, `fill`? 1, 0, or −1 where there is no such PE or op. Not in every size: see the message of
 * `HETE_ERROR_NO_PE`.
 *
 * # Safety
 * `op` is a text.
 */
int32_t rimms_PeCan(size_t pe,
                    const char *op);

/**
 * How many resources (memories) there are, the host's first; 0 on an error.
 */
size_t rimms_ResourceCount(void);

/**
 * The name of a resource, such as `host`; NULL where there is none. Valid until this thread asks for another name.
 */
const char *rimms_ResourceName(size_t resource);

/**
 * Bytes of a resource's memory; 0 where that is not known, or on an error.
 */
uint64_t rimms_ResourceCapacity(size_t resource);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* HETE_H */
