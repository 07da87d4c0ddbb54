import { runBench } from './benchmarks/run-bench.ts'

process.exitCode = await runBench(process.argv.slice(2))
