import { createSecretKey, type KeyObject } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createPeppers, type Kek, mostPeppers, type Peppers, seal, unseal } from '@holdfast/crypto'
import { background, connectDatabase, type Database, type Tx } from '../../db/database.ts'
import { minute, second } from '../../kernel/time.ts'
import * as queries from './registry.queries.ts'

/** The master keys do not match the database. The operator can fix this. */
export class MasterKeyError extends Error {}

type GivenKey = { id: string; pepper: KeyObject }
/** The parts of the master key file that this module needs. The first key is used for writing. */
export type GivenKeys = { kek: Kek; masterKeys: readonly [GivenKey, ...GivenKey[]] }

const contextOf = (id: string) => `master_keys/${id}/pepper`
const howTo = 'see docs/master-key.md'

/** True if data may still be stored under the key. */
export const isNeeded = (row: queries.MasterKeyRow): boolean => row.written_at !== null && row.unused_since === null

/** Longest lifetime of a value that is not stored yet: a challenge, a sign-in, a transaction whose replica ended. */
const onItsWayMs = 15 * minute
/** True if the key has been unused for so long that no new data can appear under it. */
export const isKeyOver = ({ unused_since }: queries.MasterKeyRow, now: Date): boolean =>
  unused_since !== null && now.getTime() - unused_since.getTime() >= onItsWayMs

function requireNeeded(rows: readonly queries.MasterKeyRow[], { masterKeys }: GivenKeys): void {
  const missing = rows.find((row) => isNeeded(row) && !masterKeys.some(({ id }) => id === row.key_id))
  if (missing)
    throw new MasterKeyError(
      `The master key ${missing.key_id} is in use, but it is not in HOLDFAST_MASTER_KEY_FILE, which has ${masterKeys.map(({ id }) => id).join(', ')}: restore its line; ${howTo}.`,
    )
}

/**
 * Assigns a version to each new master key, and reads the peppers of all keys there ever were. Fails if a key that is
 * in use is missing.
 */
export async function openPeppers(databaseUrl: string, given: GivenKeys): Promise<Peppers> {
  const { kek, masterKeys } = given
  const db = connectDatabase(databaseUrl, { max: 1, onError: () => {} })
  try {
    let rows: queries.MasterKeyRow[] | undefined
    while (!rows) rows = await register(db, given)
    const peppers = await Promise.all(
      rows.map(async ({ key_id, pepper_jwe }) => {
        const line = masterKeys.find(({ id }) => id === key_id)
        return { key: line?.pepper ?? (await openFormer(kek, key_id, pepper_jwe)), isRetired: line === undefined }
      }),
    )
    return createPeppers(peppers, rows.find((row) => row.key_id === masterKeys[0].id)?.version ?? 0)
  } finally {
    await db.close()
  }
}

/**
 * Registers the keys of the file and returns the rows of all keys. The first start also marks its key as writing, so
 * that a start with other keys is refused. Undefined if another key began to write in the meantime.
 */
async function register(db: Database, given: GivenKeys): Promise<queries.MasterKeyRow[] | undefined> {
  const { kek, masterKeys } = given
  const before = await db.acrossTenants(queries.selectMasterKeys, background)
  requireNeeded(before, given)
  // The peppers are sealed under the newest key in use, because every replica must have that one.
  const newest = before.findLast(isNeeded)?.key_id
  const sealing = newest === undefined ? kek : under(kek, newest)
  const sealed = await Promise.all(masterKeys.map(({ id, pepper }) => seal(sealing, contextOf(id), pepper.export())))
  return db.acrossTenants(async (tx) => {
    await queries.holdMasterKeys(tx)
    const known = await queries.selectMasterKeys(tx)
    if (known.findLast(isNeeded)?.key_id !== newest) return undefined
    for (const [i, { id }] of masterKeys.entries()) {
      const row = known.find(({ key_id }) => key_id === id)
      const version = row?.version ?? known.length + 1
      if (version > mostPeppers)
        throw new MasterKeyError(`This database has used ${mostPeppers} master keys, which is the maximum.`)
      if (row) await queries.setPepper(tx, version, sealed[i]!)
      else known.push(await queries.insertMasterKey(tx, { version, key_id: id, pepper_jwe: sealed[i]! }))
      if (i === 0 && newest === undefined) await queries.markWriting(tx, version)
    }
    return queries.selectMasterKeys(tx)
  }, background)
}

/** Returns the key-encryption key that seals under another of its keys, which otherwise only opens. */
function under(kek: Kek, kid: string): Kek {
  const key = kek.others.get(kid)
  return key ? { ...kek, kid, key } : kek
}

async function openFormer(kek: Kek, id: string, jwe: string | null): Promise<KeyObject> {
  const bytes = await unseal(kek, contextOf(id), jwe ?? '').catch((cause: unknown) => {
    throw new MasterKeyError(
      `The stored entry of the master key ${id} cannot be decrypted with the keys of HOLDFAST_MASTER_KEY_FILE: check the file; ${howTo}.`,
      { cause },
    )
  })
  return createSecretKey(bytes)
}

/**
 * Presence that the change feed of this replica announces while it is connected: the key versions that it reads and
 * writes with.
 */
export const keyPresenceOf = ({ all, current }: Peppers): (readonly [number, number])[] => [
  ...all.filter((p) => !p.isRetired).map((p) => [queries.presence.reads, p.version] as const),
  [queries.presence.writes, current.version],
]

/**
 * Time to wait for a replica that just ended and still shows as running. A replica that really runs shows for longer.
 */
const seenForMs = 5 * second

/**
 * Marks the first key as writing, before anything is written under it and after this replica has announced its
 * presence. Refuses unless every other replica can read that key, and this one has every key in use. Of two replicas
 * that start at once the second sees the first.
 */
export async function beginWriting(db: Database, given: GivenKeys, peppers: Peppers): Promise<void> {
  const { version } = peppers.current
  const begin = async (tx: Tx): Promise<boolean> => {
    await queries.holdMasterKeys(tx)
    const rows = await queries.selectMasterKeys(tx)
    requireNeeded(rows, given)
    const ownEntry = rows.find((row) => row.version === version)
    const successor = rows.findLast((row) => row.written_at !== null && row.version > version)
    if (successor && ownEntry?.unused_since)
      throw new MasterKeyError(
        `The master key ${ownEntry.key_id} was replaced by ${successor.key_id}: put the line of ${successor.key_id} first; ${howTo}.`,
      )
    const replicas = await queries.runningReplicas(tx)
    if (replicas.some(({ reads }) => !reads.includes(version))) return false
    await queries.markWriting(tx, version)
    return true
  }
  for (const until = performance.now() + seenForMs; !(await db.acrossTenants(begin)); await delay(second / 4))
    if (performance.now() > until)
      throw new MasterKeyError(
        `A running replica does not have the master key ${given.masterKeys[0].id}: put its line last, restart every replica with that file, and only then move the line to the top; ${howTo}.`,
      )
}
