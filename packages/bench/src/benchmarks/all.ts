import { digestPoll } from './p01-digest-poll.ts'
import { digestPollProof } from './p02-digest-poll-proof.ts'
import { bundleFetch } from './p03-bundle-fetch.ts'
import type { Benchmark } from './rig/result.ts'

/** In the order of the design. */
export const benchmarks: readonly Benchmark[] = [digestPoll, digestPollProof, bundleFetch]
