import { type Contract, type Endpoint, type Input, type Operation, type Output, operations } from '@holdfast/contract'
import { createSender, type RequestOptions, type SenderOptions } from './send.ts'
import { tagged } from './versions.ts'

/** Query parameters by which platform roles, and the deployment-wide gateway secret, say for whom they speak. */
type Scope = { query?: { tenant_id?: string; gateway_id?: string } }
export type CallInput<E extends Endpoint> = Input<E> & Scope
type Call<E extends Endpoint> =
  object extends CallInput<E>
    ? (input?: CallInput<E>, options?: RequestOptions) => Promise<Output<E>>
    : (input: CallInput<E>, options?: RequestOptions) => Promise<Output<E>>

/** One method per operation of the contract. Each throws `ApiError` or `ConnectionError`. */
export type Client = { [K in Operation]: Call<Contract[K]> }

/** A typed client. `credential` goes into Authorization; `prove` makes the DPoP proof that goes along with it. */
export function createClient(options: SenderOptions): Client {
  const send = createSender(options)
  const method = (name: Operation) => async (input?: object, requestOptions?: RequestOptions) =>
    tagged(await send(name, input, requestOptions))
  return Object.fromEntries(operations.map(([name]) => [name, method(name)])) as Client
}
