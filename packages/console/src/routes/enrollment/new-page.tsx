import { useEffect } from 'react'
import { useCan } from '../../api/me.ts'
import { openOverlay } from '../../shell/overlay.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { EnrollButton } from './enroll-button.tsx'
// The sheet opens at once, so its code loads with the view.
import './enroll-sheet.tsx'
import { Page as TokensPage } from './page.tsx'

/** B8: address of the enrollment sheet. The list of tokens is below it. */
export function Page() {
  const can = useCan()
  useEffect(() => openOverlay({ kind: 'enroll' }), [])
  if (can('enrollment_tokens:read')) return <TokensPage />
  return (
    <div className="page">
      <PageHead
        title="Enrollment"
        lede="You can create enrollment tokens. The list of tokens needs the permission enrollment_tokens:read."
        actions={<EnrollButton />}
      />
    </div>
  )
}
