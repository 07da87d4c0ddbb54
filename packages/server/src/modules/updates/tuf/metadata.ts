import type { TufRoot } from '@holdfast/contract/tuf'
import { type Signer, sha256Hex, signTuf, type TufSigned, tufKeyId, tufKeyOf, tufSpecVersion } from '@holdfast/crypto'
import type { Static } from 'typebox'
import { day } from '../../../kernel/time.ts'
import type { Role } from './tuf.queries.ts'

export type Root = Static<typeof TufRoot>
/** A key for each role, with a purpose of its own. */
export type RoleKeys = Readonly<Record<Role, Signer>>
export const onlineRoles = ['targets', 'snapshot', 'timestamp'] as const

/** Fields that all roles have. */
type Common = { _type: Role; spec_version: string; version: number; expires: string }
type FileMeta = { version: number; length: number; hashes: { sha256: string } }
export type TufTarget = { length: number; hashes: { sha256: string } }
type Targets = Common & { targets: Record<string, TufTarget> }
type Parent = Common & { meta: Record<string, FileMeta> }

/** A version of a role as it is served. */
export type IssuedMetadata<S = unknown> = {
  version: number
  text: string
  document: TufSigned<S>
  issuedAt: Date
  expiresAt: Date
}
export type RepositoryState = {
  root?: IssuedMetadata<Root['signed']>
  targets?: IssuedMetadata<Targets>
  snapshot?: IssuedMetadata<Parent>
  timestamp?: IssuedMetadata<Parent>
}
export type SignedMetadata = IssuedMetadata & { role: Role }

/** Lifetimes of each role, in ms. A version is replaced after half of its lifetime. */
export const lifetimes: Readonly<Record<Role, number>> = {
  root: 365 * day,
  targets: 30 * day,
  snapshot: 7 * day,
  timestamp: day,
}

export const keyIdOf = ({ publicJwk }: Signer): string => tufKeyId(tufKeyOf(publicJwk))
const isAlone = ({ keyids, threshold }: { keyids: readonly string[]; threshold: number }, signer: Signer) =>
  threshold === 1 && keyids.length === 1 && keyids[0] === keyIdOf(signer)

/** True if the control plane alone signs the root. */
export const isOnline = ({ roles }: Root['signed'], keys: RoleKeys): boolean => isAlone(roles.root, keys.root)
/** True if a root names the current online keys. */
export const namesOnline = ({ roles }: Root['signed'], keys: RoleKeys): boolean =>
  onlineRoles.every((role) => isAlone(roles[role], keys[role]))

/**
 * Makes the next versions, in the order of the roles, so that the metadata match the offer, are signed by the current
 * keys and are not about to expire. Nothing but a root is made while the root does not name these keys, because no
 * client would accept it. New versions are above `floor`, below which unknown ones may have been served. Each root
 * follows the one before.
 */
export async function nextMetadata(
  state: RepositoryState,
  targets: Record<string, TufTarget>,
  { keys, floor }: { keys: RoleKeys; floor: number },
  now: Date,
): Promise<SignedMetadata[]> {
  const made: SignedMetadata[] = []
  const common = <R extends Role>(role: R, before: IssuedMetadata | undefined) => ({
    _type: role,
    spec_version: tufSpecVersion,
    version: Math.max(before?.version ?? 0, role === 'root' ? 0 : floor) + 1,
    expires: `${new Date(now.getTime() + lifetimes[role]).toISOString().slice(0, 19)}Z`,
  })
  const issue = async <S extends Common>(signed: S): Promise<IssuedMetadata<S>> => {
    const { _type: role, version, expires } = signed
    const document = await signTuf(signed, [keys[role]])
    const one = { version, text: JSON.stringify(document), document, issuedAt: now, expiresAt: new Date(expires) }
    made.push({ ...one, role })
    return one
  }
  let { root } = state
  if (
    !root ||
    (isOnline(root.document.signed, keys) && (!namesOnline(root.document.signed, keys) || isDue(root, 'root', now)))
  )
    root = await issue({ ...common('root', root), ...rootOf(keys) })
  if (!namesOnline(root.document.signed, keys)) return made

  const mustSign = (role: Role, before: IssuedMetadata | undefined) =>
    !before ||
    before.version <= floor ||
    isDue(before, role, now) ||
    before.document.signatures[0]?.keyid !== keyIdOf(keys[role])
  let current = state.targets
  if (!current || mustSign('targets', current) || !isSame(current.document.signed.targets, targets))
    current = await issue({ ...common('targets', current), targets })
  let { snapshot, timestamp } = state
  const inSnapshot = { 'targets.json': metaOf(current) }
  if (!snapshot || mustSign('snapshot', snapshot) || !isSame(snapshot.document.signed.meta, inSnapshot))
    snapshot = await issue({ ...common('snapshot', snapshot), meta: inSnapshot })
  const inTimestamp = { 'snapshot.json': metaOf(snapshot) }
  if (!timestamp || mustSign('timestamp', timestamp) || !isSame(timestamp.document.signed.meta, inTimestamp))
    timestamp = await issue({ ...common('timestamp', timestamp), meta: inTimestamp })
  return made
}

const isDue = ({ issuedAt }: IssuedMetadata, role: Role, now: Date): boolean =>
  now.getTime() >= issuedAt.getTime() + lifetimes[role] / 2

const rootOf = (keys: RoleKeys): Omit<Root['signed'], keyof Common> => ({
  consistent_snapshot: true,
  keys: Object.fromEntries(Object.values(keys).map((signer) => [keyIdOf(signer), tufKeyOf(signer.publicJwk)])),
  roles: {
    root: alone(keys.root),
    targets: alone(keys.targets),
    snapshot: alone(keys.snapshot),
    timestamp: alone(keys.timestamp),
  },
})
const alone = (signer: Signer) => ({ keyids: [keyIdOf(signer)], threshold: 1 })

const metaOf = ({ version, text }: IssuedMetadata): FileMeta => ({
  version,
  length: Buffer.byteLength(text),
  hashes: { sha256: sha256Hex(text) },
})

const isSame = (a: object, b: object): boolean => JSON.stringify(a) === JSON.stringify(b)
