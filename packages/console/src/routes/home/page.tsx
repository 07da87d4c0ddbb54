import { PageHead } from '../../ui/page-head.tsx'
import { StartCard } from '../start/start-card.tsx'

export function Page() {
  return (
    <div className="page">
      <PageHead title="Home" />
      <StartCard />
    </div>
  )
}
