import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/**
 * Path of a browser that replaces the one of the package. Its pages look different, so screenshots are not compared.
 */
export const ownBrowser: string | undefined = process.env.HOLDFAST_TEST_BROWSER || undefined

/** Reason why no browser can start on this machine; undefined if one can. */
export const noBrowser: string | undefined =
  ownBrowser || (process.platform === 'linux' && process.arch === 'x64')
    ? undefined
    : `@sparticuz/chromium is for Linux on x64; name a Chromium of this machine in HOLDFAST_TEST_BROWSER`

type Program = { executablePath: string; env: Record<string, string>; remove: () => void }

/**
 * Returns a Chromium for this machine. A run of `scripts/test.mjs` unpacks the package's Chromium once, and removes its
 * folder at the end. Without such a run, `remove` removes the folder.
 */
export async function findChromium(): Promise<Program> {
  if (ownBrowser) return { executablePath: ownBrowser, env: ownEnvironment(), remove: () => {} }
  const scratch = process.env.HOLDFAST_TEST_SCRATCH
  const folder = scratch ? join(scratch, 'chromium') : mkdtempSync(join(tmpdir(), 'holdfast-chromium-'))
  await unpackOnce(folder)
  return {
    executablePath: join(folder, 'chromium'),
    env: { ...ownEnvironment(), ...environmentIn(folder) },
    remove: () => (scratch ? undefined : rmSync(folder, { recursive: true, force: true })),
  }
}

const ownEnvironment = (): Record<string, string> =>
  Object.fromEntries(Object.entries(process.env).filter((pair): pair is [string, string] => pair[1] !== undefined))

/**
 * Uses the libraries and fonts of the package on every machine, so that pages look the same everywhere. Files that
 * Chromium leaves are removed with the folder.
 */
const environmentIn = (folder: string) => ({
  HOME: folder,
  TMPDIR: folder,
  LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'),
  FONTCONFIG_FILE: join(folder, 'fonts.conf'),
})

const patienceMs = 60_000

/** Unpacks Chromium in the first process; other processes wait for it. */
async function unpackOnce(folder: string): Promise<void> {
  const finished = join(folder, 'unpacked')
  if (takes(`${folder}.lock`)) {
    mkdirSync(folder, { recursive: true })
    await unpack(folder)
    writeFileSync(join(folder, 'fonts.conf'), fontsIn(folder))
    writeFileSync(`${finished}.new`, '')
    renameSync(`${finished}.new`, finished)
    rmSync(`${folder}.lock`, { recursive: true })
    return
  }
  const until = performance.now() + patienceMs
  while (!existsSync(finished)) {
    if (performance.now() > until) throw new Error(`Chromium was not unpacked into ${folder} within ${patienceMs} ms`)
    await delay(50)
  }
}

function takes(lock: string): boolean {
  try {
    mkdirSync(lock)
    return true
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw e
  }
}

/**
 * Unpacks in a child process, since the package sets variables of its own process and unpacks into the temporary
 * folder. The package unpacks its libraries, which a machine without a desktop lacks, only on AWS.
 */
async function unpack(folder: string): Promise<void> {
  const code = `await (await import(${JSON.stringify(import.meta.resolve('@sparticuz/chromium'))})).default.executablePath()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    env: { ...process.env, TMPDIR: folder, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const exit = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve))
  if (exit !== 0) throw new Error(`Chromium could not be unpacked into ${folder}: ${said}`)
}

const fontsIn = (folder: string) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}/fonts</dir>
  <cachedir>${folder}/fonts-cache</cachedir>
</fontconfig>
`
