/**
 * Session cookie. The prefix `__Host-` binds it to this host and needs TLS. On plain http, for loopback only, the name
 * has no prefix; the cookie is still Secure.
 */
export function createCookie(publicUrl: string) {
  const name = publicUrl.startsWith('https:') ? '__Host-holdfast_session' : 'holdfast_session'
  const attributes = 'Path=/; HttpOnly; Secure; SameSite=Strict'
  return {
    set: (secret: string) => `${name}=${secret}; ${attributes}`,
    clear: () => `${name}=; ${attributes}; Max-Age=0`,
  }
}
export type Cookie = ReturnType<typeof createCookie>
