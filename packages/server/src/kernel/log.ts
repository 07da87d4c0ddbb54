/** JSON lines on stdout. What is logged holds no secret: no header, no body, no credential. */
export type Log = {
  info: (o: object, message: string) => void
  warn: (o: object, message: string) => void
  error: (o: object, message: string) => void
}
