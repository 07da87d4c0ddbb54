/** JSON lines on stdout. Log entries contain no secrets: no header, no body, no credential. */
export type Log = {
  info: (o: object, message: string) => void
  warn: (o: object, message: string) => void
  error: (o: object, message: string) => void
}
