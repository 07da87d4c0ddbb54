/** Progress: one changing line on a terminal; elsewhere plain lines at the end of a phase and every few seconds. */
export type Display = {
  /** Runs a phase; a `total` of 0 means a phase without parts. */
  phase: <T>(name: string, total: number, work: (advance: (count?: number) => void) => Promise<T>) => Promise<T>
  line: (text: string) => void
}

const frameMs = 100
const plainMs = 5_000

export function createDisplay(out: NodeJS.WriteStream, errors: () => number): Display {
  const isLive = out.isTTY === true
  return {
    line: (text) => void out.write(`${text}\n`),
    phase: async (name, total, work) => {
      const started = performance.now()
      let done = 0
      const describe = (state: string) => {
        const seconds = (performance.now() - started) / 1000
        const parts =
          total > 0 ? `${String(done).padStart(6)} / ${String(total).padEnd(6)} ${rate(done, seconds)}` : ' '.repeat(27)
        return `${state} ${name.padEnd(48)} ${parts} ${seconds.toFixed(1).padStart(6)} s  ${errors()} errors`
      }
      const draw = () => out.write(isLive ? `\r\x1b[2K${describe('…')}` : `${describe('…')}\n`)
      const timer = setInterval(draw, isLive ? frameMs : plainMs)
      try {
        const result = await work((count = 1) => {
          done += count
        })
        out.write(`${isLive ? '\r\x1b[2K' : ''}${describe('✓')}\n`)
        return result
      } catch (error) {
        out.write(`${isLive ? '\r\x1b[2K' : ''}${describe('✗')}\n`)
        throw error
      } finally {
        clearInterval(timer)
      }
    },
  }
}

const rate = (done: number, seconds: number): string => `${(done / Math.max(seconds, 0.001)).toFixed(0).padStart(6)}/s`
