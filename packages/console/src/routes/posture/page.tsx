import { PageHead } from '../../ui/page-head.tsx'

export function Page() {
  return (
    <div className="page">
      <PageHead title="Posture" />
    </div>
  )
}
