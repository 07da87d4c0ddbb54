import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { call, type OutputOf } from '../../api/client.ts'
import { selectedTenant } from '../../api/selected-tenant.ts'
import { type Parsed, type Problem, parseText, pathOf, rangeAt } from '../../editor/document.ts'

const route = 'POST /v1/admin/policy/validate'
type Answer = OutputOf<typeof route>

const parseAfterMs = 250
/** Each check is recorded in the audit log, so the server checks a text only after a pause. */
const checkAfterMs = 1_200

/** Returns a value once it has not changed for a time. */
function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}

/**
 * Reads the text after each pause in the typing.
 *
 * @param ownText text that a form has written; it is read at once
 */
export function useParsed(text: string, ownText: string | undefined): Parsed {
  const settled = useSettled(text, parseAfterMs)
  const read = text === ownText ? text : settled
  return useMemo(() => parseText(read), [read])
}

/** Checks a document by the server, and places its errors and warnings in the text. */
export function useValidation({ document, tree, problems }: Parsed) {
  const checked = useSettled(document, checkAfterMs)
  const query = useQuery<Answer, ApiError>({
    queryKey: [route, checked, selectedTenant()],
    queryFn: ({ signal }) => call(route, { body: { policy: checked ?? {} } }, { signal }),
    enabled: checked !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  })
  const isCurrent = document !== undefined && document === checked
  const answer = isCurrent ? query.data : undefined
  const found = useMemo(() => (answer ? problemsOf(answer, tree) : problems), [answer, tree, problems])
  return {
    answer,
    problems: found,
    error: query.error,
    checkedAt: query.dataUpdatedAt,
    isWaiting: document !== undefined && !isCurrent,
    isChecking: document !== undefined && (!isCurrent || query.isFetching),
  }
}
export type Validation = ReturnType<typeof useValidation>

function problemsOf({ errors, warnings, tests }: Answer, tree: Parsed['tree']): Problem[] {
  const placed = (field: string, message: string, severity: Problem['severity']): Problem => {
    const path = pathOf(field)
    return { ...rangeAt(tree, path), severity, field: field.replace(/^policy\.?/, ''), message }
  }
  const failing = (tests?.results ?? []).flatMap((result, i) =>
    result.passed
      ? []
      : [placed(`tests[${i}]`, `Test "${result.name}" fails: ${result.failures.map(sentenceOf).join('; ')}`, 'error')],
  )
  return [
    ...errors.map(({ field, message }) => placed(field, message, 'error')),
    ...failing,
    ...warnings.map((warning) => placed('', warning, 'warning')),
  ]
}

const sentenceOf = ({ target, expected, got, reason }: Failure) =>
  `${target} expected ${expected}, got ${got} (${reason})`
type Failure = NonNullable<Answer['tests']>['results'][number]['failures'][number]
