import { type Contract, type Endpoint, type Input, type Operation, type Output, operations } from '@holdfast/contract'
import { createSender, type RequestOptions, type SenderOptions } from './send.ts'
import { tagged } from './versions.ts'

/** Query parameters by which platform roles, and the deployment-wide gateway secret, name a tenant or gateway. */
type Scope = { query?: { tenant_id?: string; gateway_id?: string } }
export type CallInput<E extends Endpoint> = Input<E> & Scope
type Call<E extends Endpoint> =
  object extends CallInput<E>
    ? (input?: CallInput<E>, options?: RequestOptions) => Promise<Output<E>>
    : (input: CallInput<E>, options?: RequestOptions) => Promise<Output<E>>

/** One method per operation of the contract. Each throws `ApiError` or `ConnectionError`. */
export type Client = { [K in Operation]: Call<Contract[K]> }

/** Creates a typed client. `credential` is sent in Authorization; `prove` creates its DPoP proof. */
export function createClient(options: SenderOptions): Client {
  const send = createSender(options)
  const method = (name: Operation) => async (input?: object, requestOptions?: RequestOptions) =>
    tagged(await send(name, input, requestOptions))
  return Object.fromEntries(operations.map(([name]) => [name, method(name)])) as Client
}
