import { fail } from '../../kernel/app-error.ts'
import type { Directory } from './runs.queries.ts'

const keptBy: Record<Directory['source'], string> = {
  snapshot: 'by snapshots',
  scim: 'by an identity provider that provisions it (SCIM)',
}

/** A directory is kept by what made it known: entries that two of them know by other ids would be there twice. */
export function requireSource(
  { provider, source }: Pick<Directory, 'provider' | 'source'>,
  wanted: Directory['source'],
): void {
  if (source !== wanted)
    fail(
      'validation_error',
      `the directory ${provider} is kept ${keptBy[source]}; what else keeps one has another name`,
    )
}
