// What CUDA C has beyond C++, for one processor: threads of a block take turns, and change at barriers.
// Goes before a program's preprocessed source. Threads that never wait for each other run one after the other.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>
#include <ucontext.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __constant__ static
#define __launch_bounds__(...)

struct dim3 { unsigned x = 1, y = 1, z = 1; };
static dim3 threadIdx, blockIdx, blockDim, gridDim;

struct float2 { float x, y; };
struct double2 { double x, y; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline double2 make_double2(double x, double y) { return {x, y}; }
using std::isnan; using std::isfinite; using std::hypot;
template <class T> static inline T min(T a, T b) { return b < a ? b : a; }
template <class T> static inline T max(T a, T b) { return a < b ? b : a; }
static inline unsigned __float_as_uint(float x) { unsigned bits; std::memcpy(&bits, &x, 4); return bits; }
static inline float __uint_as_float(unsigned x) { float value; std::memcpy(&value, &x, 4); return value; }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
template <class T> static inline T atomicAdd(T *at, T x) { T old = *at; *at += x; return old; }

static char *fake_dynamic_shared;
static ucontext_t fake_turns;
static std::vector<ucontext_t> fake_threads;
static std::vector<char> fake_done;
static size_t fake_me;
static void (*fake_body)(void *);
static void *fake_given;
static bool fake_has_barriers;

static inline void __syncthreads() { swapcontext(&fake_threads[fake_me], &fake_turns); }
static inline void __syncwarp() { __syncthreads(); }

static void fake_thread() { fake_body(fake_given); fake_done[fake_me] = 1; }

static void fake_place(size_t i) {
    threadIdx.x = i % blockDim.x;
    threadIdx.y = i / blockDim.x % blockDim.y;
    threadIdx.z = i / blockDim.x / blockDim.y;
}

static void fake_block(size_t threads) {
    if (!fake_has_barriers) {
        for (size_t i = 0; i < threads; i++) { fake_place(i); fake_body(fake_given); }
        return;
    }
    const size_t STACK = 64 << 10;
    static std::vector<char *> stacks;
    while (stacks.size() < threads) stacks.push_back((char *)std::malloc(STACK));
    fake_threads.resize(threads);
    fake_done.assign(threads, 0);
    for (size_t i = 0; i < threads; i++) {
        getcontext(&fake_threads[i]);
        fake_threads[i].uc_stack.ss_sp = stacks[i];
        fake_threads[i].uc_stack.ss_size = STACK;
        fake_threads[i].uc_link = &fake_turns;
        makecontext(&fake_threads[i], fake_thread, 0);
    }
    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < threads; i++) {
            if (fake_done[i]) continue;
            fake_place(fake_me = i);
            swapcontext(&fake_turns, &fake_threads[i]);
            any |= !fake_done[i];
        }
    }
}

static void fake_grid(const unsigned *grid, const unsigned *block, size_t shared) {
    std::vector<double> room(shared / sizeof(double) + 2);
    fake_dynamic_shared = (char *)room.data();
    gridDim.x = grid[0]; gridDim.y = grid[1]; gridDim.z = grid[2];
    blockDim.x = block[0]; blockDim.y = block[1]; blockDim.z = block[2];
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
                fake_block((size_t)blockDim.x * blockDim.y * blockDim.z);
}

template <size_t... I> struct fake_indices {};
template <size_t N, size_t... I> struct fake_upto : fake_upto<N - 1, N - 1, I...> {};
template <size_t... I> struct fake_upto<0, I...> { typedef fake_indices<I...> type; };

template <class... A> struct fake_launch {
    void (*kernel)(A...);
    void *const *params;
    template <size_t... I> void call(fake_indices<I...>) { kernel(*(A *)params[I]...); }
    static void run(void *self) { ((fake_launch *)self)->call(typename fake_upto<sizeof...(A)>::type()); }
};

template <class... A>
static void fake_call(void (*kernel)(A...), void *const *params, const unsigned *grid, const unsigned *block, size_t shared) {
    fake_launch<A...> launch = {kernel, params};
    fake_body = fake_launch<A...>::run;
    fake_given = &launch;
    fake_grid(grid, block, shared);
}

template <class... A> static const size_t *fake_sizes(void (*)(A...)) {
    static const size_t sizes[] = {sizeof(A)..., 0};
    return sizes;
}

#define FAKE_KERNEL(NAME, HAS_BARRIERS) \
    extern "C" const size_t *fakecuda_sizes_##NAME() { return fake_sizes(NAME); } \
    extern "C" void fakecuda_call_##NAME(void *const *params, const unsigned *grid, const unsigned *block, size_t shared) { \
        fake_has_barriers = HAS_BARRIERS; \
        fake_call(NAME, params, grid, block, shared); \
    }
