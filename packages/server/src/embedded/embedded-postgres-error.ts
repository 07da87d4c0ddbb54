/** The embedded PostgreSQL cannot be started or used; `message` is one sentence for the person at the terminal. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError'
}
