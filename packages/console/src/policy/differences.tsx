import { useMemo, useState } from 'react'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { formatCount } from '../ui/format.ts'
import { Frame } from '../ui/frame.tsx'
import { Status } from '../ui/status.tsx'
import { Segment } from '../ui/tabs.tsx'
import { DiffTable } from './diff-table.tsx'
import { type Difference, type Document, differencesOf, type Part } from './difference.ts'
import { diffLines } from './line-diff.ts'
import { inReadingOrder, textOf } from './text.ts'

type Look = 'entries' | 'text'
/** Unchanged lines around a change of the text. */
const context = 3
/** Entries shown at first. */
const first = 30

const partWords: Readonly<Record<Part, string>> = {
  rules: 'rule',
  resources: 'resource',
  hosts: 'host',
  groups: 'group',
  posture_checks: 'posture check',
  tests: 'test',
  settings: 'setting',
  other: 'field',
}

type Props = { before: Document; after: Document; label: string }

/** Differences of two documents, by entry or as text. */
export function Differences(props: Props) {
  const { label } = props
  const [look, setLook] = useState<Look>('entries')
  const before = useMemo(() => inReadingOrder(props.before), [props.before])
  const after = useMemo(() => inReadingOrder(props.after), [props.after])
  const found = useMemo(() => differencesOf(before, after), [before, after])
  return (
    <Frame
      title="What changes"
      inset="flush"
      aside={
        <Segment
          label="Show differences"
          options={[
            { value: 'entries', label: 'Entries' },
            { value: 'text', label: 'Text' },
          ]}
          value={look}
          onChange={setLook}
        />
      }
    >
      {look === 'entries' ? (
        <Entries found={found} />
      ) : (
        <div className="chg">
          <WholeText before={before} after={after} label={label} />
        </div>
      )}
    </Frame>
  )
}

function Entries({ found }: { found: readonly Difference[] }) {
  const [most, setMost] = useState(first)
  if (found.length === 0)
    return <p className="soft in">Both documents have the same entries. Only their order or spacing may differ.</p>
  const hidden = found.length - most
  return (
    <>
      {found.slice(0, most).map((difference) => (
        <Entry key={`${difference.part}/${difference.name}`} difference={difference} />
      ))}
      {hidden > 0 && (
        <div className="chg">
          <Button size="sm" onClick={() => setMost(most + first)}>
            Show {Math.min(hidden, first)} of {formatCount(hidden, 'more entry', 'more entries')}
          </Button>
        </div>
      )}
    </>
  )
}

function Entry({ difference }: { difference: Difference }) {
  const { part, name, before, after, description } = difference
  const lines = useMemo(() => diffLines(before, after), [before, after])
  const [kind, verb] = !before
    ? (['ok', 'added'] as const)
    : !after
      ? (['bad', 'removed'] as const)
      : (['info', 'changed'] as const)
  return (
    <div className="chg">
      <div className="row between wrap">
        <span className="row tight">
          <Status kind={kind}>
            <b className="strong">{name}</b>
          </Status>{' '}
          <Badge kind={kind}>
            {partWords[part]} {verb}
          </Badge>
        </span>
        {description !== undefined && <span className="soft xs">{description}</span>}
      </div>
      <DiffTable lines={lines} label={`Change of ${partWords[part]} ${name}`} />
    </div>
  )
}

function WholeText({ before, after, label }: Props) {
  const lines = useMemo(
    () => diffLines({ text: textOf(before), line: 1 }, { text: textOf(after), line: 1 }, context),
    [before, after],
  )
  return <DiffTable lines={lines} label={label} />
}
