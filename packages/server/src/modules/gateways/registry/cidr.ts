import ipaddr from 'ipaddr.js'
import { failField } from '../../../kernel/app-error.ts'
import { isCidr, spell } from '../../../kernel/cidr.ts'

/** Checks networks one by one and names the first that is wrong by its position. Throws 422. */
export function checkCidrs(field: string, cidrs: readonly string[]): void {
  const seen = new Set<string>()
  for (const [i, text] of cidrs.entries()) {
    const at = `${field}[${i}]`
    if (!text.includes('/') || !isCidr(text))
      failField(at, 'is not a network; write it like 10.8.0.0/16 or fd00:8::/64')
    const [address, prefix] = ipaddr.parseCIDR(text)
    const base = (address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(text)
    const canonical = `${spell(base)}/${prefix}`
    if (spell(address) !== spell(base)) failField(at, `has bits set behind its prefix; write ${canonical}`)
    if (seen.has(canonical)) failField(at, 'is given twice')
    seen.add(canonical)
  }
}
