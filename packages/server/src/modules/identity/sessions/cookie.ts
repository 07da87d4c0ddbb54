/**
 * The session's cookie. The `__Host-` prefix binds it to this host and needs TLS; on plain http, which is for loopback
 * only, it goes by its plain name and is Secure all the same.
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
