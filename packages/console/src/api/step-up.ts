import { ApiError } from './api-error.ts'

type Ask = () => Promise<boolean>
let ask: Ask | undefined

/** Sets the dialog of the shell that asks for a one-time code (`shell/step-up-dialog.tsx`). */
export function setStepUp(asks: Ask | undefined): void {
  ask = asks
}

/**
 * True if the server asks for a one-time code. A person without an authenticator app gets another detail: there is no
 * code to ask for.
 */
const isStepUp = (e: unknown): boolean =>
  e instanceof ApiError && e.code === 'forbidden' && /auth\/step-up/.test(e.detail)

/**
 * Runs an action for which the tenant may require a fresh one-time code. If the server asks for one, the person enters
 * it and the action runs again.
 *
 * @throws the error of `act`, also if the person enters no code
 */
export async function withStepUp<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (e) {
    if (!isStepUp(e) || !ask || !(await ask())) throw e
    return act()
  }
}
