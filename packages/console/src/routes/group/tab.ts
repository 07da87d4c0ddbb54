import type { Group } from '../groups/words.ts'

/** Properties of each tab of a group. */
export type TabProps = { group: Group; inPanel: boolean }
