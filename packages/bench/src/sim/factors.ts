import { totpCode, totpStep } from '@holdfast/crypto'
import { type Client, signIn } from '@holdfast/sdk'
import type { Directory } from './directory.ts'
import { inParallel } from './in-parallel.ts'

/** Most users that prove a second factor. */
const mostUsers = 12
const password = 'a person who is only simulated'

/** Makes some users prove a second factor: the first two, and members of the group `legal`. */
export async function proveFactors(url: string, admin: Client, { users }: Directory): Promise<void> {
  const some = users.filter((user, i) => i < 2 || user.groups.has('legal')).slice(0, mostUsers)
  await inParallel(some, 2, async (user) => {
    const user_id = user.id
    await admin.changePassword({ body: { user_id, new_password: password } })
    const { secret } = await admin.enrollTotp({ body: { user_id } })
    const code = totpCode(fromBase32(secret), totpStep(new Date()))
    const { recovery_codes } = await admin.verifyTotp({ body: { user_id, code } })
    const from = Date.now()
    // Only a sign-in proves the factor; the code above only confirmed its enrollment.
    await signIn({ baseUrl: url, username: user.username, password, recovery_code: recovery_codes[0] })
    user.provedFactor = { from, to: Date.now() }
  })
}

function fromBase32(text: string): Uint8Array {
  const bits = [...text].map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0')).join('')
  return Uint8Array.from({ length: Math.floor(bits.length / 8) }, (_, i) => parseInt(bits.slice(i * 8, i * 8 + 8), 2))
}
