/** Placeholder until the API says when the session ends for inactivity. */
export function SessionExpiry() {
  return null
}
