/**
 * Returns an email address in canonical form: composed characters, domain in lower case. Undefined if it has invisible
 * characters: two addresses that look alike must not differ.
 */
export function canonicalEmail(text: string): string | undefined {
  const address = text.normalize('NFC')
  if (/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u.test(address)) return undefined
  const at = address.lastIndexOf('@')
  return `${address.slice(0, at)}@${address.slice(at + 1).toLowerCase()}`
}
