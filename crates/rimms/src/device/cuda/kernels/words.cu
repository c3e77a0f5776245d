// OpenCL C's words for CUDA C, so that one source serves both. Functions without a word of their own are compiled for the device.

typedef unsigned char uchar;
typedef unsigned int uint;
#define ulong unsigned long long

// An operand's layout; CUDA's own type of the name has another alignment from one version to the next.
struct Layout {
    ulong x, y, z, w;
};
#define ulong4 Layout

#define kernel extern "C" __global__
#define buffer
#define group_memory __shared__
#define in_group
#define barrier(what) __syncthreads()

#define pair(x, y) make_float2(x, y)
#define convert_double2(v) make_double2((v).x, (v).y)
#define as_uint(x) __float_as_uint(x)
#define clz(x) __clz((int)(x))
#define cl_khr_fp64

__device__ inline ulong get_global_id(int i) {
    return i == 0 ? (ulong)blockIdx.x * blockDim.x + threadIdx.x : (ulong)blockIdx.y * blockDim.y + threadIdx.y;
}
__device__ inline ulong get_global_size(int i) {
    return i == 0 ? (ulong)gridDim.x * blockDim.x : (ulong)gridDim.y * blockDim.y;
}
__device__ inline uint get_group_id(int i) {
    return i == 0 ? blockIdx.x : blockIdx.y;
}
__device__ inline uint get_local_id(int i) {
    return i == 0 ? threadIdx.x : threadIdx.y;
}

__device__ inline float2 operator+(float2 a, float2 b) {
    return make_float2(a.x + b.x, a.y + b.y);
}
__device__ inline float2 operator-(float2 a, float2 b) {
    return make_float2(a.x - b.x, a.y - b.y);
}
__device__ inline void operator+=(float2 &a, float2 b) {
    a = a + b;
}

