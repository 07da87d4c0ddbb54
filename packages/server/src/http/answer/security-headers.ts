/** Header fields of every response that is no page. */
export const securityHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

export type SecurityHeaders = typeof securityHeaders & { 'strict-transport-security'?: string }
/**
 * Header fields of every response. If this deployment uses TLS, browsers use only TLS for a year after a visit (RFC
 * 6797). Over plain HTTP the field must not be sent.
 */
export const securityHeadersFor = ({ publicUrl, isTls }: { publicUrl: string; isTls: boolean }): SecurityHeaders =>
  isTls || publicUrl.startsWith('https:')
    ? { ...securityHeaders, 'strict-transport-security': 'max-age=31536000' }
    : securityHeaders
