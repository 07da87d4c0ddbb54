import { failField } from '../../../kernel/app-error.ts'

const nameConstraints = ['pool_name_is_unique_in_its_tenant', 'gateway_name_is_unique_in_its_tenant']

/** Runs a change; a name that another row has is 422 on `name`. */
export async function refuseTakenName<T>(noun: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (e) {
    const { constraint } = e as { constraint?: unknown }
    if (nameConstraints.some((c) => c === constraint)) failField('name', `another ${noun} has this name`)
    throw e
  }
}
