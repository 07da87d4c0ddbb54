/**
 * The SQL statements of one enrollment with a device key, alone in its transaction, with a token that was used before.
 * They record the proof, lock the token, check that the key is free, allocate an address, insert the device, count the
 * use, and insert the audit event and the change. Concurrent enrollments share one transaction.
 * `random` makes each enrollment unique: a number as text, or the name of a variable.
 */
export function enrollStatements(
  { tenantId, tokenId }: { tenantId: string; tokenId: string },
  random: string,
): string[] {
  const device = `md5('${random}')::uuid`
  const now = new Date()
  const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000)
  const row = JSON.stringify([
    {
      device_id: 'DEVICE',
      user_id: null,
      name: 'laptop',
      platform: 'linux',
      os_version: null,
      client_version: null,
      serial: null,
      tags: [],
      group_ids: [],
      status: 'active',
      jkt: `bench-key-${random}`,
      public_jwk: { kty: 'EC', crv: 'P-256', x: 'x'.repeat(43), y: 'y'.repeat(43) },
      wireguard_public_key: null,
      credential_expires_at: inDays(30),
      credential_renew_after: inDays(20),
      enrolled_method: 'token',
      token_id: tokenId,
      ephemeral_seconds: null,
      enrolled_at: now,
    },
  ])
  const event = JSON.stringify([
    {
      tenant_id: tenantId,
      event_id: 'DEVICE',
      at: now,
      kind: 'device.enrolled',
      outcome: 'success',
      actor_id: `enr_${random}`,
      actor_name: 'bench',
      target_id: `dev_${random}`,
      target_name: 'laptop',
      source_ip: '127.0.0.1',
      request_id: `req_${random}`,
      record: JSON.stringify({
        kind: 'device.enrolled',
        actor: { type: 'enrollment_token', id: `enr_${random}`, name: 'bench' },
        target: { type: 'device', id: `dev_${random}`, name: 'laptop' },
        source_ip: '127.0.0.1',
        device_id: `dev_${random}`,
        method: 'token',
        token_id: `enr_${random}`,
        request_id: `req_${random}`,
        outcome: 'success',
        timestamp: now,
        origin: 'device',
        details: { binding: 'dpop', status: 'active' },
      }),
    },
  ])
  /** The JSON as one parameter would carry it, with the new device's id filled in. */
  const json = (text: string) => `('${text.replace('"DEVICE"', `"'||${device}||'"`)}')::jsonb`
  const begin = (scope: string) => `begin; set local holdfast.tenant = '${scope}'`
  return [
    begin(tenantId),
    `insert into proofs_seen (proof, expires_at)
     select p, now() + interval '2 minutes' from unnest(array[sha256('${random}')]) as p order by p
     on conflict (proof) do nothing returning proof`,
    `select token_id, max_uses, uses from enrollment_tokens
     where tenant_id = '${tenantId}' and token_id = any('{${tokenId}}'::uuid[]) and kind = 'enroll'
       and revoked_at is null and expires_at > now()
     order by token_id for no key update`,
    `select jkt from devices
     where tenant_id = '${tenantId}' and jkt = any('{bench-key-${random}}'::text[]) and status <> 'revoked'
     order by device_id for share`,
    `update tenant_epochs set addresses = addresses + 1 where tenant_id = '${tenantId}' returning addresses`,
    `insert into devices (tenant_id, device_id, user_id, name, platform, os_version, client_version, serial, tags, group_ids,
       status, jkt, public_jwk, wireguard_public_key, address_number, credential_expires_at, credential_renew_after,
       enrolled_method, token_id, ephemeral_seconds, enrolled_at)
     select '${tenantId}', d.device_id, d.user_id, d.name, d.platform, d.os_version, d.client_version, d.serial, d.tags,
       d.group_ids, d.status, d.jkt, d.public_jwk, d.wireguard_public_key,
       (select 1000000000 + addresses from tenant_epochs where tenant_id = '${tenantId}'), d.credential_expires_at,
       d.credential_renew_after, d.enrolled_method, d.token_id, d.ephemeral_seconds, d.enrolled_at
     from jsonb_to_recordset(${json(row)}) as d (device_id uuid, user_id uuid, name text, platform text, os_version text,
       client_version text, serial text, tags text[], group_ids uuid[], status text, jkt text, public_jwk jsonb,
       wireguard_public_key text, credential_expires_at timestamptz, credential_renew_after timestamptz,
       enrolled_method text, token_id uuid, ephemeral_seconds integer, enrolled_at timestamptz)
     on conflict (tenant_id, jkt) where status <> 'revoked' do nothing returning device_id`,
    `update enrollment_tokens t set uses = t.uses + u.uses, last_used_at = now()
     from unnest('{${tokenId}}'::uuid[], '{1}'::integer[]) as u (token_id, uses)
     where t.tenant_id = '${tenantId}' and t.token_id = u.token_id`,
    `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, actor_id, actor_name, target_id, target_name,
       source_ip, request_id, record)
     select * from jsonb_to_recordset(${json(event)})
       as r (tenant_id uuid, event_id uuid, at timestamptz, kind text, outcome text, actor_id text, actor_name text,
       target_id text, target_name text, source_ip text, request_id text, record text)`,
    `with epoch as (update tenant_epochs set seq = seq + 1 where tenant_id = '${tenantId}' returning seq),
     logged as (
       insert into changes (tenant_id, seq, kind, subject)
       select '${tenantId}', epoch.seq, c.kind, c.subject from epoch,
         unnest('{device}'::text[], array[${device}]) as c (kind, subject)
       on conflict do nothing)
     select seq from epoch`,
    'commit',
  ]
}
