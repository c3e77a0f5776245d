// Element by element: zip, scale, magnitude, decide.

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// In double precision neither the square of the largest float overflows nor that of the smallest vanishes.
float2 over(float2 x, float2 y) {
    double2 a = convert_double2(x), b = convert_double2(y);
    double square = b.x * b.x + b.y * b.y;
    return pair((float)((a.x * b.x + a.y * b.y) / square), (float)((a.y * b.x - a.x * b.y) / square));
}
#else
int exponent(float2 x) {
    float larger = fmax(fabs(x.x), fabs(x.y));
    return larger > 0.0f && isfinite(larger) ? ilogb(larger) : 0;
}

// Both are brought to a magnitude of about 1 first, by powers of two.
float2 over(float2 x, float2 y) {
    int up = exponent(x), down = exponent(y);
    float2 a = ldexp(x, -up), b = ldexp(y, -down);
    float square = b.x * b.x + b.y * b.y;
    return ldexp(pair((a.x * b.x + a.y * b.y) / square, (a.y * b.x - a.x * b.y) / square), up - down);
}
#endif

// `row` elements of b serve for all n of a.
#define ZIP(NAME, T, RESULT) \
    kernel void NAME(buffer const T *a, ulong4 la, buffer const T *b, ulong4 lb, buffer T *out, ulong4 lo, ulong n, \
                     ulong row) { \
        ulong i = get_global_id(0); \
        if (i >= n) return; \
        T x = a[at(la, i)], y = b[at(lb, row == n ? i : i % row)]; \
        out[at(lo, i)] = RESULT; \
    }

ZIP(add_real, float, x + y)
ZIP(sub_real, float, x - y)
ZIP(mul_real, float, x * y)
ZIP(div_real, float, x / y)
ZIP(add_complex, float2, x + y)
ZIP(sub_complex, float2, x - y)
ZIP(mul_complex, float2, times(x, y))
ZIP(div_complex, float2, over(x, y))
ZIP(conj_mul_complex, float2, times(x, conjugate(y)))

#define MAP(NAME, T, U, RESULT) \
    kernel void NAME(buffer const T *in, ulong4 li, buffer U *out, ulong4 lo, ulong n, float2 factor) { \
        ulong i = get_global_id(0); \
        if (i >= n) return; \
        T x = in[at(li, i)]; \
        out[at(lo, i)] = RESULT; \
    }

// How many of the limits between the four levels x is above: none of a NaN.
int level(float x, float limit) {
    return (x > -limit) + (x > 0.0f) + (x > limit);
}

MAP(scale_real, float, float, factor.x * x)
MAP(scale_complex, float2, float2, times(factor, x))
MAP(magnitude, float2, float, hypot(x.x, x.y))
MAP(bpsk, float2, float, x.x > 0.0f ? 1.0f : -1.0f)
MAP(qam16, float2, int, 4 * level(x.x, factor.x) + level(x.y, factor.x))
