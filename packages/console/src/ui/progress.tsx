import { classes } from './classes.ts'

type Fill = 'bx1' | 'bx2' | 'bx3' | 'bx4' | 'bxok' | 'bxwarn' | 'bxbad' | 'bxnone'

type BulletProps = {
  /** 0 to 1; larger values are drawn as full. */
  share: number
  /** Value in words: `1,284 of 1,500 devices`. */
  label: string
  fill?: Fill | undefined
  /** Position of a threshold or the previous value, 0 to 1. */
  tick?: number | undefined
}
const bounded = (share: number) => Math.min(Math.max(share, 0), 1)
const rounded = (n: number) => Math.round(n * 10) / 10

/**
 * Used share of a limit.
 *
 * @example <Bullet share={1284 / 1500} label="1,284 of 1,500 devices" tick={0.8} />
 */
export const Bullet = ({ share, label, fill = 'bx1', tick }: BulletProps) => (
  <svg className="bullet" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={label}>
    <rect className={fill} width={rounded(bounded(share) * 100)} height="6" />
    {tick !== undefined && <rect className="tick" x={rounded(bounded(tick) * 100)} width="0.4" height="6" />}
  </svg>
)

type StackBarProps = { parts: readonly { value: number; fill: Fill }[]; label: string; className?: string | undefined }

/**
 * Parts of a whole.
 *
 * @example <StackBar label="287 moved, 25 stuck" parts={[{ value: 287, fill: 'bxok' }, …]} />
 */
export function StackBar({ parts, label, className }: StackBarProps) {
  const sum = parts.reduce((total, { value }) => total + value, 0)
  let x = 0
  const rects = parts
    .filter(({ value }) => value > 0)
    .map(({ value, fill }) => {
      const width = (value / sum) * 1000
      const rect = (
        <rect key={fill} className={fill} x={rounded(x)} width={rounded(Math.max(width - 3, 2))} height="8" />
      )
      x += width
      return rect
    })
  return (
    <svg
      className={classes('sbar', className)}
      viewBox="0 0 1000 8"
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {rects}
    </svg>
  )
}
