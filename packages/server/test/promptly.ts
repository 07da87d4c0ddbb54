/**
 * Milliseconds within which what is pushed arrives on any machine, however busy: far above what it takes, which the
 * benchmarks say, and below the end of every wait that would bring it anyway.
 */
export const promptly = 5000
