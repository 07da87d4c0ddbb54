import { type Cryptoki, CryptokiError, memory, wordBytes } from './cryptoki.ts'
import type { TokenPlace } from './messages.ts'

const osLockingOk = 2n
const userType = 1
const rwSerialSession = 6
const alreadyInitialized = 0x191
const alreadyLoggedIn = 0x100
/** CK_TOKEN_INFO: the label, padded with spaces, and the session limits, where 0 and all ones mean no limit. */
const tokenInfo = { size: 208, label: 32, maxSessions: 104, maxRwSessions: 120 }
const sessionsMost = 8

/** Initializes the library for several threads (CK_C_INITIALIZE_ARGS). */
async function initialize(cryptoki: Cryptoki): Promise<void> {
  const args = memory(6 * wordBytes)
  args.writeBigUInt64LE(osLockingOk, 4 * wordBytes)
  await cryptoki.call('C_Initialize', args).catch((e: unknown) => {
    if (!(e instanceof CryptokiError && e.rv === alreadyInitialized)) throw e
  })
}

/** Finds the slot whose token has this label, and its session limit. */
async function findSlot(cryptoki: Cryptoki, label: string): Promise<{ slot: bigint; sessions: number }> {
  const count = memory(wordBytes)
  await cryptoki.call('C_GetSlotList', 1, null, count)
  const slots = memory(wordBytes * Math.max(1, Number(count.readBigUInt64LE())))
  await cryptoki.call('C_GetSlotList', 1, slots, count)
  const found: { slot: bigint; sessions: number }[] = []
  for (let i = 0; i < Number(count.readBigUInt64LE()); i++) {
    const slot = slots.readBigUInt64LE(wordBytes * i)
    const info = memory(tokenInfo.size)
    await cryptoki.call('C_GetTokenInfo', slot, info)
    const limits = [tokenInfo.maxSessions, tokenInfo.maxRwSessions].map((at) => info.readBigUInt64LE(at))
    const sessions = Math.min(sessionsMost, ...limits.filter((n) => n > 0n).map(Number))
    if (info.toString('utf8', 0, tokenInfo.label).trimEnd() === label) found.push({ slot, sessions })
  }
  const [only, ...others] = found
  if (!only) throw new Error(`no token has the label ${label}`)
  if (others.length > 0) throw new Error(`${found.length} tokens have the label ${label}`)
  return only
}

/**
 * Runs work in a session of its own. The token's session limit bounds concurrency, up to eight including the login
 * session.
 */
type Sessions = { inSession: <T>(work: (session: bigint) => Promise<T>) => Promise<T> }

/** Opens sessions with the token under one login. */
export async function openTokenSessions(cryptoki: Cryptoki, { label, pin }: TokenPlace): Promise<Sessions> {
  await initialize(cryptoki)
  const { slot, sessions } = await findSlot(cryptoki, label)
  const most = Math.max(1, sessions - 1)
  const idle: bigint[] = []
  const waiting: (() => void)[] = []
  let open = 0

  async function openOne(): Promise<bigint> {
    const session = memory(wordBytes)
    await cryptoki.call('C_OpenSession', slot, rwSerialSession, null, null, session)
    return session.readBigUInt64LE()
  }
  async function take(): Promise<bigint> {
    while (idle.length === 0 && open >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    const free = idle.pop()
    if (free !== undefined) return free
    open++
    try {
      return await openOne()
    } catch (e) {
      open--
      waiting.shift()?.()
      throw e
    }
  }
  const inSession: Sessions['inSession'] = async (work) => {
    const session = await take()
    try {
      const result = await work(session)
      idle.push(session)
      return result
    } catch (e) {
      // An operation may still be active in the session, so it is closed.
      open--
      await cryptoki.call('C_CloseSession', session).catch(() => {})
      throw e
    } finally {
      waiting.shift()?.()
    }
  }

  const secret = memory(Buffer.byteLength(pin))
  secret.write(pin)
  try {
    // The login ends with the last session (PKCS#11 2.40 §5.6), so this session stays open and unused.
    await cryptoki.call('C_Login', await openOne(), userType, secret, secret.length)
  } catch (e) {
    if (!(e instanceof CryptokiError && e.rv === alreadyLoggedIn)) throw e
  } finally {
    secret.fill(0)
  }
  return { inSession }
}
