import type { InputOf } from '../../api/client.ts'
import type { Search } from '../../navigation.ts'

/** Policy that decides: `delivered`, `stable`, `canary`, or the id of a kept version. */
export type JudgeId = string

/** Question of the page, as the address has it. */
export type Question = {
  mode: 'reach' | 'who'
  subject: { kind: 'device' | 'user'; id: string } | undefined
  target: string
  at: string
  sourceIp: string
  country: string
  /** Minutes since the second factor. */
  mfaMinutes: number | undefined
  under: JudgeId
  /** Second policy, to compare with; undefined for none. */
  against: JudgeId | undefined
}

/** @example questionOf({ device_id: 'dev_01…', target: 'wiki' }) */
export function questionOf(search: Search): Question {
  const { device_id, user_id, target = '', at = '', source_ip = '', country = '', mfa, under, against } = search
  return {
    mode: search.ask === 'who' ? 'who' : 'reach',
    subject: device_id ? { kind: 'device', id: device_id } : user_id ? { kind: 'user', id: user_id } : undefined,
    target,
    at,
    sourceIp: source_ip,
    country,
    mfaMinutes: mfa !== undefined && /^\d{1,7}$/.test(mfa) ? Number(mfa) : undefined,
    under: under ?? 'delivered',
    against,
  }
}

/** Parameters of the address; undefined removes one. */
export const searchOf = (question: Question): Record<string, string | undefined> => ({
  ask: question.mode === 'who' ? 'who' : undefined,
  device_id: question.subject?.kind === 'device' ? question.subject.id : undefined,
  user_id: question.subject?.kind === 'user' ? question.subject.id : undefined,
  target: question.target.trim() || undefined,
  at: question.at.trim() || undefined,
  source_ip: question.sourceIp.trim() || undefined,
  country: question.country.trim() || undefined,
  mfa: question.mfaMinutes === undefined ? undefined : String(question.mfaMinutes),
  under: question.under === 'delivered' ? undefined : question.under,
  against: question.against,
})

type ExplainBody = InputOf<'POST /v1/admin/policy/explain'>['body']
/** Facts of the connection, and the subject, without the policy. */
export type Asked = Omit<ExplainBody, 'channel' | 'policy'>

/** Returns the question for the API, or what is missing in it. */
export function askedOf(question: Question, nowMs: number): Asked | undefined {
  const { subject, target, at, sourceIp, country, mfaMinutes } = question
  if (!subject || target.trim() === '') return undefined
  return {
    ...(subject.kind === 'device' ? { device_id: subject.id } : { user_id: subject.id }),
    target: target.trim(),
    ...(at.trim() !== '' && { at: at.trim() }),
    ...(sourceIp.trim() !== '' && { source_ip: sourceIp.trim() }),
    ...(country.trim() !== '' && { country: country.trim().toUpperCase() }),
    ...(mfaMinutes !== undefined && { mfa_at: new Date(nowMs - mfaMinutes * 60_000).toISOString() }),
  }
}
