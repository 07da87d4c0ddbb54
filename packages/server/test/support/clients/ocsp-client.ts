import { hash, randomBytes, X509Certificate } from 'node:crypto'

/** An implementation of OCSP (RFC 6960), independent of the server's. */
type Element = { tag: number; content: Buffer; der: Buffer }

export function elements(content: Buffer): Element[] {
  const found: Element[] = []
  for (let at = 0; at < content.length; ) {
    const first = content[at + 1]!
    const octets = first < 0x80 ? 0 : first & 0x7f
    const length = octets === 0 ? first : content.readUIntBE(at + 2, octets)
    const start = at + 2 + octets
    found.push({
      tag: content[at]!,
      content: content.subarray(start, start + length),
      der: content.subarray(at, start + length),
    })
    at = start + length
  }
  return found
}
const inside = (content: Buffer, ...path: number[]): Element =>
  path.reduce((e, i) => elements(e.content)[i]!, { tag: 0, content, der: content })

function element(tag: number, ...contents: Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...head), content])
}
const sequence = (...contents: Uint8Array[]) => element(0x30, ...contents)
const sha1 = Buffer.from('300906052b0e03021a0500', 'hex')
const nonceOid = Buffer.from('06092b0601050507300102', 'hex')

/** A serial number (hex) that was never issued. */
export const inventedSerial = () => `01${randomBytes(15).toString('hex')}`

/** Builds a request for serial numbers (hex) of this issuer (PEM). */
export function ocspRequest(issuer: string, serials: readonly string[], nonce?: Uint8Array): Buffer {
  const tbs = inside(new X509Certificate(issuer).raw, 0, 0)
  const name = elements(tbs.content)[5]!.der
  const key = inside(elements(tbs.content)[6]!.der, 0, 1).content.subarray(1)
  const digest = (bytes: Buffer) => element(0x04, hash('sha1', bytes, 'buffer'))
  const list = serials.map((serial) =>
    sequence(sequence(sha1, digest(name), digest(key), element(0x02, Buffer.from(serial, 'hex')))),
  )
  const extension = nonce && element(0xa2, sequence(sequence(nonceOid, element(0x04, element(0x04, nonce)))))
  return sequence(sequence(sequence(...list), ...(extension ? [extension] : [])))
}

const reasons = ['unspecified', 'keyCompromise', 'cACompromise', 'affiliationChanged', 'superseded'] as const
const timeOf = (text: string) => new Date(text.replace(/^(....)(..)(..)(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))

/** Parses a response without verifying it; `openssl` verifies it in the interop tests. */
export function readOcsp(der: Buffer) {
  const [status, bytes] = elements(inside(der, 0).content)
  if (!bytes) return { error: status!.content[0], answers: [], nonce: undefined }
  const basic = inside(bytes.content, 0, 1).content
  const [, , responses, extensions] = elements(inside(basic, 0, 0).content)
  const answers = elements(responses!.content).map(({ content }) => {
    const [certId, state, thisUpdate, nextUpdate] = elements(content)
    const [revokedAt, reason] = state!.tag === 0xa1 ? elements(state!.content) : []
    const code = reason && inside(reason.content, 0).content[0]!
    return {
      serial: elements(certId!.content)[3]!.content.toString('hex'),
      status: { 128: 'good', 161: 'revoked', 130: 'unknown' }[state!.tag],
      thisUpdate: timeOf(String(thisUpdate!.content)),
      nextUpdate: timeOf(String(inside(nextUpdate!.content, 0).content)),
      revokedAt: revokedAt && timeOf(String(revokedAt.content)),
      reason: code === 5 ? 'cessationOfOperation' : reasons[code ?? 0],
    }
  })
  const nonce = extensions && inside(inside(extensions.content, 0, 0, 1).content, 0).content.toString('hex')
  return { error: undefined, answers, nonce }
}
