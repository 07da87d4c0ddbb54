import { ApiError } from './api-error.ts'

type Ask = () => Promise<boolean>
let ask: Ask | undefined

/** The dialog of the shell that asks for a one-time code (`shell/step-up-dialog.tsx`). */
export function setStepUp(asks: Ask | undefined): void {
  ask = asks
}

/** A person without an authenticator app is refused in other words: there is no code to ask for. */
const isStepUp = (e: unknown): boolean =>
  e instanceof ApiError && e.code === 'forbidden' && /auth\/step-up/.test(e.detail)

/**
 * Does something that the tenant may bind to a fresh one-time code: when the server asks for one, the person is asked,
 * and it is done again.
 *
 * @throws what `act` throws, also when no code was given
 */
export async function withStepUp<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (e) {
    if (!isStepUp(e) || !ask || !(await ask())) throw e
    return act()
  }
}
