import { sql } from 'kysely'

/** Texts as one parameter, none empty or with a line feed: the elements of an array are quoted one by one. */
export const lines = (texts: readonly string[]) => sql<string[]>`string_to_array(${texts.join('\n')}, e'\n')`
