import { idPrefixes, type Noun } from '@holdfast/contract/vocabulary'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** UUID → the id on the wire (TypeID): five bits a character from the right. */
export function typeId(noun: Noun, uuid: string): string {
  let rest = BigInt(`0x${uuid.replaceAll('-', '')}`)
  let text = ''
  for (let i = 0; i < 26; i++, rest >>= 5n) text = alphabet[Number(rest & 31n)] + text
  return `${idPrefixes[noun]}_${text}`
}
