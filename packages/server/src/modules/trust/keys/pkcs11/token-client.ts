import { type ChildProcess, fork } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Log } from '../../../../kernel/log.ts'
import { second } from '../../../../kernel/time.ts'
import { KeyAwayError } from '../provider.ts'
import type { Pkcs11Request, TokenAnswer, TokenAnswers, TokenFault, TokenMessage } from './messages.ts'

export type TokenConfig = {
  /** Path of the token's PKCS#11 library. */
  library: string
  /** The token's label. */
  token: string
  /** File whose first line is the PIN of the token's user. */
  pinFile: string
  /** Environment variables that the library may read. */
  environment: Readonly<Record<string, string>>
}

/** Program next to this file, both in the sources and in the bundle, which has one folder. */
const program = new URL(`token-process${extname(fileURLToPath(import.meta.url))}`, import.meta.url)
const answerWithinMs = 10 * second
/** After a failure to open the token, no attempt is made for this time, in ms. */
const pauseMs = 2 * second
const waitingMost = 1000
/** Most concurrent calls of the library. */
const threads = '8'

/** The token refused a request; `fault` tells if it would refuse others too. */
class TokenError extends Error {
  readonly fault: TokenFault
  /** True if a new process may succeed at once. */
  readonly mayTryAgain: boolean
  constructor(fault: TokenFault, message: string, mayTryAgain = fault === 'token') {
    super(message)
    this.fault = fault
    this.mayTryAgain = mayTryAgain
  }
}

type Waiting = { resolve: (result: never) => void; reject: (e: Error) => void; timer: NodeJS.Timeout }

/** Starts a process with the token's library. When it ends, all its pending requests are rejected. */
function startProcess(environment: TokenConfig['environment']) {
  const child: ChildProcess = fork(program, {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: { ...environment, UV_THREADPOOL_SIZE: threads },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  const waiting = new Map<number, Waiting>()
  let asked = 0
  let end: Error | undefined
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const fail = (e: Error) => {
    end ??= e
    for (const { reject, timer } of waiting.values()) {
      clearTimeout(timer)
      reject(end)
    }
    waiting.clear()
    child.kill('SIGKILL')
  }
  child.once('exit', (code, signal) =>
    fail(new TokenError('token', `the process that runs the library of the token ended (${signal ?? code})`)),
  )
  child.once('error', (e) => fail(new TokenError('token', e.message)))
  child.on('message', (message: TokenAnswer) => {
    const found = waiting.get(message.id)
    if (!found) return
    waiting.delete(message.id)
    clearTimeout(found.timer)
    if ('result' in message) found.resolve(message.result as never)
    else found.reject(new TokenError(message.fault, message.message))
  })
  return {
    fail,
    ended,
    ask: <R extends Pkcs11Request>(request: R): Promise<TokenAnswers[R['ask']]> =>
      new Promise((resolve, reject) => {
        if (end) return reject(end)
        if (waiting.size >= waitingMost)
          return reject(new TokenError('request', 'too many requests wait for the PKCS#11 token'))
        const id = asked++
        const late = () => fail(new TokenError('token', 'the token does not answer', false))
        waiting.set(id, { resolve, reject, timer: setTimeout(late, answerWithinMs) })
        child.send({ id, request } satisfies TokenMessage, (e) => e && fail(new TokenError('token', e.message)))
      }),
  }
}
type TokenProcess = ReturnType<typeof startProcess>

const openings = 3
const openAgainMs = 200

/**
 * Connection to the token, opened when it is first needed, and again after a loss. Throws `KeyAwayError` while the
 * token is unavailable.
 */
export function createTokenClient(config: TokenConfig, log: Log) {
  const { token, library, environment } = config
  let current: Promise<TokenProcess> | undefined
  let notBefore = 0
  let lastError: Error | undefined
  let refusedPin: string | undefined
  let isStopped = false
  const running = new Set<TokenProcess>()

  async function open(): Promise<TokenProcess> {
    if (lastError && refusedPin === undefined && performance.now() < notBefore) throw lastError
    const text = await readFile(config.pinFile, 'utf8')
    const pin = text.split(/\r?\n/, 1)[0] ?? ''
    // A few wrong PINs lock a token permanently.
    if (lastError && pin === refusedPin) throw lastError
    const process = await openWith(pin, openings)
    refusedPin = undefined
    lastError = undefined
    log.info({ token, library }, 'PKCS#11 token opened')
    return process
  }

  /** Retries, because a token may briefly be missing while other processes make keys in it. */
  async function openWith(pin: string, tries: number): Promise<TokenProcess> {
    if (isStopped) throw new TokenError('token', 'the server is stopping', false)
    const process = startProcess(environment)
    running.add(process)
    void process.ended.then(() => running.delete(process))
    try {
      await process.ask({ ask: 'open', place: { library, label: token, pin } })
      return process
    } catch (e) {
      process.fail(e as Error)
      if (e instanceof TokenError && e.fault === 'pin') refusedPin = pin
      if (tries === 1 || !(e instanceof TokenError) || e.fault !== 'token' || !e.mayTryAgain) throw e
    }
    await delay(openAgainMs)
    return openWith(pin, tries - 1)
  }

  function connect(): Promise<TokenProcess> {
    current ??= open().catch((e: Error) => {
      current = undefined
      if (e !== lastError) {
        lastError = e
        notBefore = performance.now() + pauseMs
        log.error(
          { token, library, reason: e.message },
          'PKCS#11 token cannot be opened; operations that need its keys are refused',
        )
      }
      throw e
    })
    return current
  }

  /** If the token is lost, reloads the library and retries a repeatable request once. */
  async function use<R extends Pkcs11Request>(request: R): Promise<TokenAnswers[R['ask']]> {
    const wasOpen = current
    const process = await connect()
    try {
      return await process.ask(request)
    } catch (e) {
      if (!(e instanceof TokenError) || e.fault === 'request') throw e
      process.fail(e)
      if (current && (await current.catch(() => undefined)) === process) current = undefined
      log.warn({ token, reason: e.message }, 'connection to the PKCS#11 token lost')
      if (wasOpen === undefined || !e.mayTryAgain || request.ask === 'make') throw e
      return (await connect()).ask(request)
    }
  }

  return {
    use: <R extends Pkcs11Request>(request: R): Promise<TokenAnswers[R['ask']]> =>
      use(request).catch((e: Error) => {
        throw new KeyAwayError(e)
      }),
    stop: async (): Promise<void> => {
      isStopped = true
      for (const process of running) process.fail(new TokenError('token', 'the server is stopping', false))
      await Promise.all([...running].map((process) => process.ended))
    },
  }
}
export type TokenClient = ReturnType<typeof createTokenClient>
