import { Button } from '../ui/button.tsx'
import { PageHead } from '../ui/page-head.tsx'

/** Replaces a view that failed to draw. If a module is missing, the server has a newer console: a reload fetches it. */
export function PageFailure({ error }: { error: Error }) {
  const isOutdated = /dynamically imported module|module script|preload CSS/i.test(error.message)
  return (
    <div className="page">
      <PageHead title={isOutdated ? 'A new version is available' : 'This page could not be shown'} />
      <div className="blank" role="alert">
        <p>
          {isOutdated
            ? 'The server was updated while this page was open. Load the page again to continue.'
            : `The console failed with: ${error.message}. Load the page again. If it happens again, report it.`}
        </p>
        <div className="acts">
          <Button kind="primary" onClick={() => window.location.reload()}>
            Load again
          </Button>
        </div>
      </div>
    </div>
  )
}
