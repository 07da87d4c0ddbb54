import { contract } from '@holdfast/contract'
import type { RequiredAction } from '@holdfast/contract/vocabulary'
import { ApiError, type Client } from '@holdfast/sdk'
import type { Cli } from './cli.ts'

/** Commands for the actions that the server's errors name by API path. */
const commands: readonly (readonly [path: string, command: string])[] = [
  [contract.stepUp.path, 'holdfast auth step-up'],
  [contract.enrollTotp.path, 'holdfast totp enroll'],
  [contract.changePassword.path, 'holdfast user password'],
]

/** Returns advice for an error. `spoke`: the command used an administrator's credential. */
export function adviceOn(error: unknown, spoke: boolean): string[] {
  if (!(error instanceof ApiError)) return []
  if (error.status === 401 && spoke) return ['Sign in with: holdfast login']
  const [, command] = commands.find(([path]) => error.status === 403 && error.detail.includes(path)) ?? []
  return command === undefined ? [] : [`Run: ${command}`]
}

export const owedText: Record<RequiredAction, string> = {
  change_password: 'Your password is temporary. Set your own one with: holdfast user password',
  enroll_mfa: 'Your role requires a second factor. Set up an authenticator app with: holdfast totp enroll',
}

/** Prints the next required action of the session, after one was completed. */
export async function noteOwed(cli: Cli, client: Client): Promise<void> {
  const owed = (await client.me()).session?.required_action
  if (owed) cli.note(owedText[owed])
}
