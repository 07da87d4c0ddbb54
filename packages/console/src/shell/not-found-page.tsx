import { useMe } from '../api/me.ts'
import { ButtonLink } from '../ui/button.tsx'
import { PageHead } from '../ui/page-head.tsx'

/** Page for a path without a view. */
export function NotFoundPage() {
  const { tenant_name } = useMe()
  return (
    <div className="page">
      <PageHead title="There is no page here" />
      <div className="blank">
        <p>The address is wrong, or the page has moved. You are signed in to {tenant_name}.</p>
        <div className="acts">
          <ButtonLink to="/admin" kind="primary">
            Go to Home
          </ButtonLink>
        </div>
      </div>
    </div>
  )
}
