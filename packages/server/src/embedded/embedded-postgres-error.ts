/** The embedded PostgreSQL cannot be started or used. `message` is one sentence for the operator. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError'
}
