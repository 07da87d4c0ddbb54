import { Fragment, type ReactNode } from 'react'
import { AppLink } from './app-link.tsx'
import { Icon } from './icon.tsx'

type PageHeadProps = {
  title: ReactNode
  /** One soft line of facts. */
  sub?: ReactNode
  crumbs?: readonly { to: string; label: string }[] | undefined
  /** Ghost, plain, then one primary button. */
  actions?: ReactNode
  /** The status of the object, beside its name. */
  badge?: ReactNode
  lede?: ReactNode
}

/**
 * The head of a page.
 *
 * @example <PageHead title="Devices" sub="1,284 of 1,500" actions={<Button kind="primary">Enroll device</Button>} />
 */
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
      {sub !== undefined && <span className="sub">{sub}</span>}
      {actions !== undefined && <div className="acts">{actions}</div>}
      {lede !== undefined && (
        <div className="lede">
          <p>{lede}</p>
        </div>
      )}
    </div>
  )
}
