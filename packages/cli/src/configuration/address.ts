import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** An address in the one spelling that the server keeps: RFC 5952, and as IPv4 what is mapped; what is none as it is. */
export function oneSpelling(text: string): string {
  if (isIP(text) === 0) return text
  const ip = ipaddr.process(text)
  return ip instanceof ipaddr.IPv6 ? ip.toRFC5952String() : ip.toString()
}
