import { classes } from './classes.ts'
import './ui.css'

type Width = 'w30' | 'w45' | 'w60' | 'w85'

/**
 * Placeholder for a text that is loading. It appears after 150 ms.
 *
 * @example <Skeleton width="w45" />
 */
export const Skeleton = ({ width }: { width?: Width | undefined }) => (
  <span className="late" aria-hidden="true">
    <span className={classes('skel', width)} />
  </span>
)

const widths: readonly Width[] = ['w85', 'w45', 'w60', 'w30']

/** Placeholder for a few lines of text. */
export const SkeletonLines = () => (
  <div className="waiting" aria-busy="true">
    <Skeleton width="w60" />
    <Skeleton width="w85" />
    <Skeleton width="w45" />
  </div>
)

/** Placeholder for a table, under the heads of its columns. */
export const SkeletonTable = ({ heads, rows }: { heads: readonly string[]; rows?: number | undefined }) => (
  <div className="tw" aria-busy="true">
    <table className="t" aria-hidden="true">
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head}>{head}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        <SkeletonRows columns={heads.length} rows={rows} />
      </tbody>
    </table>
  </div>
)

/**
 * Placeholder for rows of a table, in their final height.
 *
 * @example <tbody>{isPending && <SkeletonRows columns={6} />}</tbody>
 */
export const SkeletonRows = ({ columns, rows = 8 }: { columns: number; rows?: number | undefined }) =>
  Array.from({ length: rows }, (_, row) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all the same and never move
    <tr key={row}>
      {Array.from({ length: columns }, (_, column) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: as above
        <td key={column}>
          <Skeleton width={widths[(row + column) % widths.length]} />
        </td>
      ))}
    </tr>
  ))
