import { hash } from 'node:crypto'
import { refuse } from './errors.ts'
import { importPublic, type PublicJwk } from './jwk.ts'
import { verifyBytes } from './signature.ts'
import type { Signer } from './signer.ts'

/** The head of a log: the number of its entries, and the root of their Merkle tree. */
export type Checkpoint = { origin: string; size: number; root: Buffer }

/** Longer than any note with the 16 signatures that a verifier must accept (signed-note). */
const longest = 16_384
const dash = '\u2014'
const name = /^[^\s+]+$/u
/** Only the canonical forms: no leading zero, and base64 of 32 bytes with padding. */
const whole = /^(?:0|[1-9]\d{0,15})$/
const base64Root = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/

const textOf = ({ origin, size, root }: Checkpoint): string => `${origin}\n${size}\n${root.toString('base64')}\n`

/** C2SP signed-note: SHA-256(name, newline, type, key), its first four bytes; 01 is the type of Ed25519. */
export function noteKeyId(keyName: string, publicJwk: PublicJwk): Buffer {
  const key = Buffer.from(publicJwk.x, 'base64url')
  return hash('sha256', Buffer.concat([Buffer.from(`${keyName}\n`), Buffer.of(1), key]), 'buffer').subarray(0, 4)
}

/** Signs a text under this name (C2SP signed-note). Throws TypeError for a key that is not Ed25519. */
export async function signNote(text: string, keyName: string, signer: Signer): Promise<string> {
  if (signer.alg !== 'Ed25519') throw new TypeError('a note must be signed with an Ed25519 key')
  const signature = await signer.sign(Buffer.from(text))
  return `${text}\n${dash} ${keyName} ${Buffer.concat([noteKeyId(keyName, signer.publicJwk), signature]).toString('base64')}\n`
}

/** Signs a checkpoint under its origin (C2SP tlog-checkpoint). */
export const signCheckpoint = (checkpoint: Checkpoint, signer: Signer): Promise<string> =>
  signNote(textOf(checkpoint), checkpoint.origin, signer)

type NoteSignature = { name: string; keyId: Buffer; signature: Buffer }
/** Throws `malformed`. */
export function readNote(note: string): { text: string; signatures: NoteSignature[] } {
  const end = note.lastIndexOf('\n\n')
  if (note.length > longest || end < 0 || /[\x00-\x09\x0b-\x1f\ufffd]/.test(note))
    refuse('malformed', 'it is not a signed note')
  const lines = note.slice(end + 2).split('\n')
  if (lines.pop() !== '' || lines.length === 0) refuse('malformed', 'the note has no signature lines at its end')
  const signatures = lines.map((line) => {
    const [mark, keyName = '', base64 = '', ...more] = line.split(' ')
    const bytes = Buffer.from(base64, 'base64')
    const isSignature = mark === dash && name.test(keyName) && more.length === 0 && bytes.length > 4
    if (!isSignature || bytes.toString('base64') !== base64)
      refuse('malformed', 'a signature line of the note is malformed')
    return { name: keyName, keyId: bytes.subarray(0, 4), signature: bytes.subarray(4) }
  })
  return { text: note.slice(0, end + 1), signatures }
}

/** Reads a checkpoint without verifying any signature. Throws `malformed`. */
export function peekCheckpoint(note: string): Checkpoint {
  const [origin = '', size = '', root = '', ...more] = readNote(note).text.slice(0, -1).split('\n')
  const isOne = name.test(origin) && whole.test(size) && base64Root.test(root) && !more.includes('')
  if (!isOne || !Number.isSafeInteger(Number(size))) refuse('malformed', 'the note is not a checkpoint')
  return { origin, size: Number(size), root: Buffer.from(root, 'base64') }
}

/**
 * Reads a checkpoint that one of these keys signed under its origin. Signatures by other keys are ignored. Throws
 * `malformed`, `unknown_key` if none of the keys signed it, and `bad_signature`.
 */
export function openCheckpoint(note: string, keys: readonly PublicJwk[]): Checkpoint {
  const checkpoint = peekCheckpoint(note)
  openNote(note, checkpoint.origin, keys)
  return checkpoint
}

/** Returns the text of a note that one of these keys signed under this name. Throws like `openCheckpoint`. */
export function openNote(note: string, keyName: string, keys: readonly PublicJwk[]): string {
  const { text, signatures } = readNote(note)
  let isSigned = false
  for (const key of keys) {
    if (key.crv !== 'Ed25519') continue
    const keyId = noteKeyId(keyName, key)
    for (const { signature } of signatures.filter((s) => s.name === keyName && s.keyId.equals(keyId))) {
      if (!verifyBytes({ alg: 'Ed25519', publicKey: importPublic(key) }, Buffer.from(text), signature))
        refuse('bad_signature', 'a signature of the note is invalid')
      isSigned = true
    }
  }
  return isSigned ? text : refuse('unknown_key', 'the note has no signature by a known key')
}
