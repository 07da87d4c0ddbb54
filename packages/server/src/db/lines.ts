import { sql } from 'kysely'

/**
 * Texts as one parameter; none may be empty or contain a line feed. The driver would quote each element of an array.
 */
export const lines = (texts: readonly string[]) => sql<string[]>`string_to_array(${texts.join('\n')}, e'\n')`
