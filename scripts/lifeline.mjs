// Preloaded by run.mjs. If our parent process (npm, or run.mjs itself) is killed, nothing can stop us while we hold the
// port and the data directory. So we stop quickly (SIGINT), and after 5 s in any case.
const PERIOD_MS = 1_000
const PATIENCE_MS = 5_000

const parent = Number(process.env.HOLDFAST_PARENT_PID)
delete process.env.HOLDFAST_PARENT_PID

if (parent) {
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), PATIENCE_MS).unref()
    process.kill(process.pid, 'SIGINT')
  }, PERIOD_MS)
  timer.unref()
}
