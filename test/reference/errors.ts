import { type Endpoint, operations } from '@holdfast/contract'
import { type ErrorCode, errorStatus, scimTypes } from '@holdfast/contract/vocabulary'
import { code, page, table } from './markdown.ts'

const texts: Readonly<Record<ErrorCode, { when: string; cure: string }>> = {
  bad_request: {
    when: 'The server cannot read the request: JSON, UTF-8, content type, size, an unknown query parameter, a malformed id in a query.',
    cure: 'Correct the client. The same request fails again.',
  },
  unauthorized: {
    when: 'The credential is missing, or not valid now. The answer does not say which.',
    cure: 'Sign in again, renew the credential, or enroll the device again.',
  },
  forbidden: {
    when: 'The credential is valid, but is of the wrong kind, lacks the permission, or comes from another site.',
    cure: 'Ask for a role with the permission that `detail` names.',
  },
  not_found: {
    when: 'The object does not exist in this tenant, or the address does not exist.',
    cure: 'Check the id, the path and the tenant.',
  },
  entitlement_exceeded: {
    when: 'A limit of the plan, the license or the token is reached.',
    cure: 'Raise the limit, or remove objects. `holdfast tenant usage` shows the limits.',
  },
  validation_error: {
    when: 'A field is missing, unknown, or breaks a rule. `errors` lists each field with a message.',
    cure: 'Correct the listed fields.',
  },
  rate_limited: {
    when: 'Too many requests, or too many failed sign-ins from one address.',
    cure: 'Wait for the seconds in `Retry-After`, then repeat.',
  },
  internal_error: {
    when: 'The server failed, or the database does not answer.',
    cure: 'Repeat the request. If `Retry-After` is present, wait that long. Report the `request_id`.',
  },
}

const scimTexts: Readonly<Record<(typeof scimTypes)[number], string>> = {
  invalidFilter: 'The filter cannot be read, or filters by an attribute that cannot be filtered.',
  tooMany: 'The filter finds more objects than one answer may hold.',
  uniqueness: 'Another object has this value already.',
  mutability: 'The attribute cannot be changed.',
  invalidSyntax: 'The body cannot be read.',
  invalidPath: 'The path of a PATCH operation cannot be read.',
  noTarget: 'The path of a PATCH operation finds nothing.',
  invalidValue: 'A value is missing, or is not allowed for the attribute.',
}

/** Returns the page of all error codes. */
export function errorsPage(): string {
  const codes = Object.keys(errorStatus) as ErrorCode[]
  return page(
    'Error codes',
    'Read this page when an answer of the API has the field `error`.',
    'Every error has the same shape. `request_id` finds the audit event of the request, as does the header\n`X-Request-Id`.',
    ['```json', JSON.stringify(example, null, 2), '```'].join('\n'),
    `## Codes\n\n${table(
      ['Status', 'Code', 'When', 'Cure'],
      codes.map((name) => [String(errorStatus[name]), code(name), texts[name].when, texts[name].cure]),
    )}`,
    `## Operations that declare a code of their own\n\nEvery operation may answer 400 and 500. Operations with a credential may also answer 401, 403 and 429.\nChanges may also answer 422.\n\n${table(
      ['Code', 'Operations'],
      codes.flatMap((name) => (declaring(name).length > 0 ? [[code(name), declaring(name).map(code).join(', ')]] : [])),
    )}`,
    `## SCIM\n\nUnder \`/v1/scim/v2/\` errors have the shape of RFC 7644 section 3.12, with one of these types.\n\n${table(
      ['Type', 'When'],
      scimTypes.map((type) => [code(type), scimTexts[type]]),
    )}`,
  )
}

const example = {
  error: 'validation_error',
  detail: 'The body has 1 error.',
  request_id: '0198c0de-7f3a-7b52-9c1e-0a1b2c3d4e5f',
  errors: [{ field: 'name', message: 'is required' }],
}

const declaring = (name: ErrorCode): string[] =>
  (operations as readonly (readonly [string, Endpoint])[]).filter(([, e]) => e.errors?.includes(name)).map(([id]) => id)
