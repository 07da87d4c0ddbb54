/**
 * One spelling of a mail address: composed characters, the domain in lower case. Undefined where something in it is not
 * shown: two addresses that look alike must not be two.
 */
export function canonicalEmail(text: string): string | undefined {
  const address = text.normalize('NFC')
  if (/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u.test(address)) return undefined
  const at = address.lastIndexOf('@')
  return `${address.slice(0, at)}@${address.slice(at + 1).toLowerCase()}`
}
