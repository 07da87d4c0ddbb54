import { useState } from 'react'
import { useApi } from '../../api/use-api.ts'
import type { Document } from '../../policy/difference.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Note } from '../../ui/note.tsx'
import { Status } from '../../ui/status.tsx'
import { Card } from '../home/card.tsx'

const route = 'POST /v1/admin/policy/validate'
const first = 5
type Named = { name?: unknown }

/** Tests of the draft, errors and warnings. Tests that the current version does not have are marked. */
export function TestsCard({ document, before }: { document: Document; before: Document | undefined }) {
  const query = useApi(route, { body: { policy: document } })
  const [isWhole, setWhole] = useState(false)
  const tests = query.data?.tests
  const known = new Set((Array.isArray(before?.tests) ? (before.tests as Named[]) : []).map(({ name }) => name))
  return (
    <Card
      title="Tests"
      what="the tests of the draft"
      query={query}
      aside={
        tests &&
        tests.passed + tests.failed > 0 && (
          <Status kind={tests.failed > 0 ? 'bad' : 'ok'}>
            {tests.passed} of {tests.passed + tests.failed}
          </Status>
        )
      }
    >
      {({ errors, warnings, tests: run }) => {
        const results = (run?.results ?? []).toSorted((a, b) => Number(a.passed) - Number(b.passed))
        return (
          <div className="stack">
            {errors.map(({ field, message }) => (
              <Note key={field + message} kind="bad" title={`${field.replace(/^policy\.?/, '')}: ${message}`} />
            ))}
            {warnings.map((warning) => (
              <Note key={warning} kind="warn" title={warning} />
            ))}
            {results.length === 0 ? (
              <p className="soft">
                The draft has no tests. A test fails the publication if the policy stops doing what it says.
              </p>
            ) : (
              <ul className="objects">
                {results.slice(0, isWhole ? 200 : first).map(({ name, passed, failures }) => (
                  <li key={name}>
                    <Status kind={passed ? 'ok' : 'bad'}>{name}</Status>
                    {!known.has(name) && before !== undefined && <Badge>new</Badge>}
                    {failures.map(({ target, expected, got }) => (
                      <span key={target} className="soft xs">
                        {target}: expected {expected}, got {got}
                      </span>
                    ))}
                  </li>
                ))}
              </ul>
            )}
            {results.length > first && !isWhole && (
              <div className="row">
                <Button size="sm" kind="ghost" onClick={() => setWhole(true)}>
                  Show {results.length > 200 ? 'the first 200' : `all ${results.length}`}
                </Button>
              </div>
            )}
          </div>
        )
      }}
    </Card>
  )
}
