// Preloaded by run.mjs. When what started us (npm, or run.mjs itself) is killed, nobody can stop us any more, while we
// hold the port and the data directory: so we stop, quickly (SIGINT), and after 5 s in any case.
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
