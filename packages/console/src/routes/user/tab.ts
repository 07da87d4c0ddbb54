import type { User } from '../users/words.ts'

/** Properties of each tab of a user. */
export type TabProps = { user: User; inPanel: boolean }
