import type { ReactNode } from 'react'
import { Spark } from '../charts/spark.tsx'
import { AppLink } from './app-link.tsx'
import { classes } from './classes.ts'
import type { Mark } from './status.tsx'

type KpiProps = {
  label: string
  /** Value; undefined while unknown: a dash. */
  value: ReactNode
  unit?: string | undefined
  sub?: ReactNode
  /** Mark, only for a value that deviates. */
  mark?: Mark | undefined
  to?: string | undefined
  spark?: readonly number[] | undefined
}

/**
 * Figures in a common frame, with lines between them.
 *
 * @example <Kpis><Kpi label="Devices" value="1,284" sub="of 1,500" to="/admin/devices" /></Kpis>
 */
export const Kpis = ({ className, children }: { className?: 'four' | undefined; children: ReactNode }) => (
  <div className={classes('kpis', className)}>{children}</div>
)

export function Kpi({ label, value, unit, sub, mark, to, spark }: KpiProps) {
  const content = (
    <>
      <span className="l">
        {mark && <span className={classes('d', mark)} />}
        {label}
      </span>
      <span className="v">
        {value ?? <span className="faint">–</span>}
        {unit !== undefined && <small> {unit}</small>}
      </span>
      {sub !== undefined && <span className="s">{sub}</span>}
      {spark && spark.length > 1 && <Spark data={spark} />}
    </>
  )
  return to === undefined ? (
    <div className="kpi">{content}</div>
  ) : (
    <AppLink className="kpi" to={to}>
      {content}
    </AppLink>
  )
}
