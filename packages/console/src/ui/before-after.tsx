import { Fragment, type ReactNode } from 'react'

type Change = { field: string; before?: ReactNode; after?: ReactNode }

/**
 * Changed fields: the old value with a colour for removal, then the new one.
 *
 * @example <BeforeAfter changes={[{ field: 'capacity', before: '400', after: '500' }]} />
 */
export const BeforeAfter = ({ changes }: { changes: readonly Change[] }) => (
  <dl className="ba">
    {changes.map(({ field, before, after }) => (
      <Fragment key={field}>
        <dt>{field}</dt>
        <dd>
          {before !== undefined && <del>{before}</del>}
          {before !== undefined && after !== undefined && <span className="faint"> → </span>}
          {after !== undefined && <ins>{after}</ins>}
        </dd>
      </Fragment>
    ))}
  </dl>
)
