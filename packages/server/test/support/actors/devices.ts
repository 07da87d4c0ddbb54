import { contract } from '@holdfast/contract'
import { createProof, generateKey, type PrivateJwk } from '@holdfast/crypto'
import { createClient, createSender, type DirectoryPool } from '@holdfast/sdk'
import { payloadOf } from '../clients/answers.ts'
import type { ApiTarget, Caller } from '../clients/api-calls.ts'
import { call, deviceCaller } from '../clients/api-calls.ts'
import type { Kit, Replica } from '../deployment/deployment.ts'

export type RawDevice = { id: string; credential: string; key: PrivateJwk; caller: Caller }

/** Enrolls a device with a fresh key, without the SDK. */
export async function enrollRaw(kit: ApiTarget, token: string, name = 'laptop'): Promise<RawDevice> {
  const { privateJwk } = generateKey('ES256')
  const answer = await call(kit, contract.enroll, deviceCaller(token, privateJwk), {
    device: { name, platform: 'linux' },
  })
  if (answer.status !== 201) throw new Error(`enrollment refused: ${answer.status} ${answer.text}`)
  const credential = String(answer.json.credential)
  return {
    id: String(answer.json.device_id),
    credential,
    key: privateJwk,
    caller: deviceCaller(credential, privateJwk),
  }
}

export async function enroll(
  kit: Kit,
  name: string,
  {
    now = () => new Date(),
    admin = kit.admin,
    wireguard_public_key,
    secret: existing,
    ...token
  }: {
    user_id?: string
    tags?: string[]
    group_ids?: string[]
    ephemeral_seconds?: number
    now?: () => Date
    admin?: Kit['admin']
    wireguard_public_key?: string
    /** The secret of an existing token. */
    secret?: string
  } = {},
) {
  const secret = existing ?? (await admin.generateToken({ body: token })).secret
  const { privateJwk } = generateKey('ES256')
  const connection = {
    baseUrl: kit.publicUrl,
    dispatcher: kit.dispatcher,
    prove: (method: string, url: string, accessToken: string) =>
      createProof(privateJwk, { method, url, accessToken, now: now() }),
  }
  const given = wireguard_public_key === undefined ? {} : { wireguard_public_key }
  const device = { name, platform: 'linux' as const, client_version: '1.2.3', ...given }
  const made = await createClient({ ...connection, credential: secret }).enroll({ body: { device } })
  let { credential } = made
  const client = createClient({ ...connection, credential: () => credential })
  const directory = async (): Promise<DirectoryPool[]> => payloadOf((await client.gatewayPools()).directory).pools
  return {
    id: made.device_id,
    /** The answer to its enrollment. */
    made,
    /** The pools in its directory, unverified. */
    directory,
    client,
    /** Renews the credential and uses the new one. */
    renew: async (body: { wireguard_public_key?: string } = {}) => {
      credential = (await client.renewCredential({ body })).credential
    },
    /** The same device, at another replica. */
    at: ({ dispatcher }: Replica) => createClient({ ...connection, dispatcher, credential: made.credential }),
    send: createSender({ ...connection, credential: made.credential }),
  }
}

/** Requests the challenge that begins an enrollment through an identity provider. */
export const requestChallenge = async (kit: ApiTarget, caller: Caller): Promise<string> =>
  String((await call(kit, contract.listEnrollmentProviders, caller)).json.challenge)

/** Enrolls a device on one of the channels. */
export async function enrollOnChannel(kit: Kit, name: string, channel: 'auto' | 'canary' | 'stable' = 'auto') {
  const device = await enroll(kit, name)
  if (channel !== 'auto')
    await kit.admin.changeDevice({
      body: { operation: 'update', device_id: device.id, device: { channel } },
    })
  return device
}
