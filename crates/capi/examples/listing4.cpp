// The paper's Listing 4 in C++: the i-th fragment is x[i].
//
//   c++ -std=c++17 listing4.cpp -o listing4 $(pkg-config --cflags --libs rimms) && ./listing4
#include <hete.hpp>

#include <cmath>
#include <cstdio>

int main() try {
    constexpr std::size_t M = 64, N = 256, bin = 16;

    rimms::hete_data<rimms::complex> input(M * N), output(M * N);
    std::size_t i = 0;
    for (rimms::complex &sample : input.overwrite()) {
        sample = std::polar(1.0F, 2.0F * 3.14159265F * static_cast<float>(bin * (i++ % N)) / N);
    }
    input.fragment(M);
    output.fragment(M);

    for (std::size_t row = 0; row < M; ++row) rimms::fft(input[row], output[row]);

    const auto spectrum = output.read();
    for (std::size_t at = 0; at < M * N; ++at) {
        const float wanted = at % N == bin ? float(N) : 0.0F;
        if (std::abs(spectrum[at] - wanted) > 0.01F) {
            std::fprintf(stderr, "element %zu is wrong\n", at);
            return 1;
        }
    }
    const rimms_Stats stats = rimms::stats();
    std::printf("%zu transforms of %zu points; the tone is in bin %zu\n", M, N, bin);
    std::printf("calls %llu, copies to devices %llu, back %llu\n", static_cast<unsigned long long>(stats.calls),
                static_cast<unsigned long long>(stats.host_to_device.copies),
                static_cast<unsigned long long>(stats.device_to_host.copies));
    return 0;
} catch (const rimms::error &e) {
    std::fprintf(stderr, "%s: %s\n", e.name(), e.what());
    return 1;
}
