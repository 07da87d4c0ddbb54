/** The header fields of every answer that is no page. */
export const securityHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

export type SecurityHeaders = typeof securityHeaders & { 'strict-transport-security'?: string }
/**
 * Of every answer. Where this deployment is reached by TLS, a browser that was here once uses nothing else for a year
 * (RFC 6797); over plain HTTP the field must not be sent.
 */
export const securityHeadersFor = ({ publicUrl, isTls }: { publicUrl: string; isTls: boolean }): SecurityHeaders =>
  isTls || publicUrl.startsWith('https:')
    ? { ...securityHeaders, 'strict-transport-security': 'max-age=31536000' }
    : securityHeaders
