import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, type Client, ConnectionError } from '@holdfast/sdk'

const attempts = 8

/** A client that retries under the same Idempotency-Key while the server is temporarily unavailable. */
export const patient = (client: Client): Client =>
  new Proxy(client, {
    get: (target, name, receiver) => {
      const method = Reflect.get(target, name, receiver)
      if (typeof method !== 'function') return method
      return async (input?: object, options?: object) => {
        const once = { idempotencyKey: randomUUID(), ...options }
        for (let attempt = 1; ; attempt++) {
          try {
            return await method(input, once)
          } catch (e) {
            const isPassing = e instanceof ConnectionError || (e instanceof ApiError && e.status >= 500)
            if (!isPassing || attempt === attempts) throw e
            await delay(((e instanceof ApiError && e.retryAfterSeconds) || 1) * 1000)
          }
        }
      }
    },
  })
