import { Fragment, type ReactNode } from 'react'
import { AppLink } from './app-link.tsx'
import { Icon } from './icon.tsx'

type PageHeadProps = {
  title: ReactNode
  /** Line of facts under the title. Null or false while they load: their line stays free, so that nothing moves. */
  sub?: ReactNode
  crumbs?: readonly { to: string; label: string }[] | undefined
  /** Buttons in order: ghost, plain, then one primary. */
  actions?: ReactNode
  /** Status of the object, beside its name. */
  badge?: ReactNode
  lede?: ReactNode
}

export function PageHead({ title, sub, crumbs, actions, badge, lede }: PageHeadProps) {
  return (
    <div className="head">
      {crumbs && (
        <nav className="crumb" aria-label="Breadcrumb">
          {crumbs.map(({ to, label }, place) => (
            <Fragment key={to}>
              {place > 0 && <Icon name="right" size="s" />}
              <AppLink to={to}>{label}</AppLink>
            </Fragment>
          ))}
        </nav>
      )}
      <h1>
        {title}
        {badge}
      </h1>
      {sub !== undefined && <span className="sub">{sub || '\u00a0'}</span>}
      {actions !== undefined && <div className="acts">{actions}</div>}
      {lede !== undefined && (
        <div className="lede">
          <p>{lede}</p>
        </div>
      )}
    </div>
  )
}
