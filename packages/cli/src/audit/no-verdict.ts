import { ApiError, VerificationError } from '@holdfast/sdk'
import { BadRecord, NoVerdict } from './bad-record.ts'

/**
 * Converts a server error to `NoVerdict`, since it says nothing about the audit log and must not look like a bad one.
 */
export function asNoVerdict(e: unknown): unknown {
  if (e instanceof ApiError) return new NoVerdict(`${whyNot(e)} The audit log was not verified.`, { cause: e })
  if (!(e instanceof VerificationError)) return e
  if (e.code === 'wrong_tenant' || e.code === 'expired')
    return new NoVerdict(`The keys of the server can't be used: ${e.message}. The audit log was not verified.`, {
      cause: e,
    })
  return new BadRecord(1, `the keys of the server cannot be trusted: ${e.message}`)
}

function whyNot({ status, code, detail }: ApiError): string {
  if (status === 401) return `The server refused the credential: ${detail}. Sign in, or set an API key.`
  if (status === 403)
    return `The server refused the request: ${detail}. You need a role with audit:read and audit:export.`
  if (code === 'rate_limited') return `The server is busy: ${detail}.`
  return `The server ${status < 500 ? 'refused the request' : 'failed'}: ${detail}.`
}
