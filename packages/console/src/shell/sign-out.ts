import { messageOf } from '../api/api-error.ts'
import { signOut } from '../api/sign-in.ts'
import { toast } from '../ui/toast.tsx'

/** Signs out. If that fails, shows a message: the session is still active. */
export const signOutOrSay = (): Promise<void> =>
  signOut().catch((e: unknown) => toast({ kind: 'bad', title: 'You are still signed in', text: messageOf(e) }))
