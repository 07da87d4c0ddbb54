import { messageOf } from '../api/api-error.ts'
import { signOut } from '../api/sign-in.ts'
import { toast } from '../ui/toast.tsx'

/** Signs out, and says so where that failed: the session then still runs. */
export const signOutOrSay = (): Promise<void> =>
  signOut().catch((e: unknown) => toast({ kind: 'bad', title: 'You are still signed in', text: messageOf(e) }))
