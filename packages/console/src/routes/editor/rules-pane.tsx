import { type DragEvent, type KeyboardEvent, useState } from 'react'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import { formatCount } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { MenuButton } from '../../ui/menu.tsx'
import type { MenuItem } from '../../ui/menu-popover.tsx'
import { conditionsOf, isFields, subjectsOf, type Token, targetsOf } from './rule-words.ts'

/** Rules in the page at first. More follow on demand, so that the page stays small. */
const first = 100
/** Type of a dragged rule. Files and texts from elsewhere have others. */
const dragType = 'application/x-holdfast-rule'
type Fields = Readonly<Record<string, unknown>>

type RuleDeeds = {
  onEdit: (place: number) => void
  onMove: (from: number, to: number) => void
  onCopy: (place: number) => void
  onRemove: (place: number) => void
  onShow: (place: number) => void
}
type Props = RuleDeeds & {
  rules: readonly unknown[]
  filter: string
  /** Rules that differ from the base, by their id. */
  changed: ReadonlyMap<string, 'new' | 'changed'>
  /** Places of rules with a problem. */
  wrong: ReadonlySet<number>
  /** Reason why the rules cannot be changed. */
  offReason: string | undefined
}

/** Rules as sentences, with subjects, targets and conditions. */
export function RulesPane({ rules, filter, changed, wrong, offReason, ...deeds }: Props) {
  const [most, setMost] = useState(first)
  const text = filter.trim().toLowerCase()
  const found = rules.flatMap((rule, place) => (text === '' || textOf(rule).includes(text) ? [{ rule, place }] : []))
  if (rules.length === 0) return <p className="soft">No rules. Without one, devices reach nothing.</p>
  if (found.length === 0) return <p className="soft">No rule matches the filter.</p>
  return (
    <>
      <ol className="rules">
        {found.slice(0, most).map(({ rule, place }) => (
          <Rule
            key={place}
            rule={isFields(rule) ? rule : {}}
            place={place}
            count={rules.length}
            change={isFields(rule) ? changed.get(String(rule.id)) : undefined}
            isWrong={wrong.has(place)}
            offReason={offReason}
            {...deeds}
          />
        ))}
      </ol>
      {found.length > most && (
        <div className="row">
          <Button size="sm" onClick={() => setMost(most + first)}>
            Show {formatCount(Math.min(found.length - most, first), 'more rule', 'more rules')} of {found.length - most}
          </Button>
        </div>
      )}
    </>
  )
}

const textOf = (rule: unknown): string => JSON.stringify(rule).toLowerCase()

type RuleProps = RuleDeeds & {
  rule: Fields
  place: number
  count: number
  change: 'new' | 'changed' | undefined
  isWrong: boolean
  offReason: string | undefined
}

function Rule({ rule, place, count, change, isWrong, offReason, ...deeds }: RuleProps) {
  const { onEdit, onMove } = deeds
  const isDeny = rule.action === 'deny'
  const name = typeof rule.id === 'string' ? rule.id : `rule ${place + 1}`
  const [isOver, setOver] = useState(false)
  const move = (to: number) => {
    if (offReason !== undefined || to < 0 || to >= count) return
    onMove(place, to)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (!event.altKey || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return
    event.preventDefault()
    const to = place + (event.key === 'ArrowUp' ? -1 : 1)
    move(to)
    // The focus follows the rule.
    event.currentTarget.closest('ol')?.querySelector<HTMLElement>(`[data-rule="${to}"]`)?.focus()
  }
  const onDrop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    const dragged = event.dataTransfer.getData(dragType)
    if (offReason === undefined && dragged !== '' && Number(dragged) !== place) onMove(Number(dragged), place)
  }
  return (
    <li
      className={classes('rule', isWrong && 'err', isOver && 'sel')}
      draggable={offReason === undefined}
      onDragStart={(event) => event.dataTransfer.setData(dragType, String(place))}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <span className="grip" aria-hidden="true">
        <Icon name="drag" size="s" />
        {place + 1}
      </span>
      <div className="what">
        <button
          type="button"
          className="rule-open"
          data-rule={place}
          aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown"
          onClick={() => onEdit(place)}
          onKeyDown={onKeyDown}
        >
          <span className="vh">Edit rule {name}: </span>
          <span className={classes('verb', isDeny && 'deny')}>{isDeny ? 'Deny' : 'Allow'}</span>{' '}
          <Tokens tokens={subjectsOf(rule.from)} none="nobody" />
          {subjectsOf(rule.except).length > 0 && (
            <>
              <span className="soft">except</span> <Tokens tokens={subjectsOf(rule.except)} none="" />
            </>
          )}
          <Icon name="arrow" size="s" /> <Tokens tokens={targetsOf(rule.to)} none="nothing" />
        </button>
        {conditionsOf(rule).length > 0 && (
          <span className="cond">
            <Icon name="clock" size="s" />
            {conditionsOf(rule).join(' · ')}
          </span>
        )}
        <span className="rid">
          <code>{name}</code>
          {typeof rule.description === 'string' && <span className="soft">{rule.description}</span>}
          {change && <Badge kind={change === 'new' ? 'ok' : 'info'}>{change}</Badge>}
        </span>
      </div>
      <MenuButton label={`Actions for rule ${name}`} items={menuOf({ place, count, offReason, ...deeds })} />
    </li>
  )
}

const mostTokens = 8

function Tokens({ tokens, none }: { tokens: readonly Token[]; none: string }) {
  if (tokens.length === 0) return <span className="faint">{none} </span>
  return (
    <>
      {tokens.slice(0, mostTokens).map(({ kind, text }) => (
        <span key={kind + text} className={classes('tok', kind === 'group' && 'g', kind === 'tag' && 'tg')}>
          {kind === 'tag' ? `tag:${text}` : text}
        </span>
      ))}
      {tokens.length > mostTokens && <span className="soft">and {tokens.length - mostTokens} more</span>}
    </>
  )
}

type MenuProps = RuleDeeds & { place: number; count: number; offReason: string | undefined }

function menuOf({
  place,
  count,
  offReason: off,
  onEdit,
  onMove,
  onCopy,
  onRemove,
  onShow,
}: MenuProps): readonly MenuItem[] {
  return [
    { id: 'edit', icon: 'edit', label: off ? 'Show as form' : 'Edit', onSelect: () => onEdit(place) },
    { id: 'show', icon: 'term', label: 'Show in JSON', onSelect: () => onShow(place) },
    {
      id: 'up',
      icon: 'up',
      label: 'Move up',
      offReason: off ?? (place === 0 ? 'It is the first rule.' : undefined),
      onSelect: () => onMove(place, place - 1),
    },
    {
      id: 'down',
      icon: 'down',
      label: 'Move down',
      offReason: off ?? (place === count - 1 ? 'It is the last rule.' : undefined),
      onSelect: () => onMove(place, place + 1),
    },
    { id: 'copy', icon: 'copy', label: 'Duplicate', offReason: off, onSelect: () => onCopy(place) },
    'line',
    { id: 'remove', icon: 'x', label: 'Remove', danger: true, offReason: off, onSelect: () => onRemove(place) },
  ]
}
