// What all kernels share. Operands come as a buffer and a layout: where the first element lies, how many elements a row
// has, and how many there are from one row to the next, all in elements. A row of 0 says that there are no gaps.
// One work-item does one element, unless it says otherwise; items beyond the last do nothing.
//
// These files, but for fft.cl, are CUDA C too: what the two languages say differently is a word that is defined before.

ulong at(ulong4 layout, ulong i) {
    return layout.x + (layout.y == 0 ? i : (i / layout.y) * layout.z + i % layout.y);
}

float2 times(float2 x, float2 y) {
    return pair(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}

float2 conjugate(float2 x) {
    return pair(x.x, -x.y);
}
