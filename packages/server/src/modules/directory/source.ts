import { fail } from '../../kernel/app-error.ts'
import type { DirectoryOfRun } from './runs.queries.ts'

const keptBy: Record<DirectoryOfRun['source'], string> = {
  snapshot: 'by snapshots',
  scim: 'by SCIM',
}

/**
 * A directory can be written only by the kind of source that created it. Two sources with different IDs would create
 * entries twice.
 */
export function requireSource(
  { provider, source }: Pick<DirectoryOfRun, 'provider' | 'source'>,
  requiredSource: DirectoryOfRun['source'],
): void {
  if (source !== requiredSource)
    fail('validation_error', `the directory ${provider} is already updated ${keptBy[source]}: use another name`)
}
