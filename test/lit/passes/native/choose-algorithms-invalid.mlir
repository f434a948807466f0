// RUN: et-opt -p choose-algorithms{algorithm=fft} --verify-diagnostics %s

// expected-error @below {{unknown algorithm 'fft'}}
builtin.module {
}
