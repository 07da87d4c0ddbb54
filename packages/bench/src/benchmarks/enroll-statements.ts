/**
 * What the server sends to the database for one enrollment with a device key: find the token by its look-up id, read its
 * terms, then take a use of it, remember the proof, take an address, insert the device, its audit event and the change.
 * `random` stands for whatever is new in each: a number as text, or the name of a variable.
 */
export function enrollStatements(
  { tenantId, tokenId, lookup }: { tenantId: string; tokenId: string; lookup: string },
  random: string,
): string[] {
  const device = `md5('${random}')::uuid`
  const event = JSON.stringify([
    {
      ...{ tenant_id: tenantId, event_id: 'EVENT', at: '2026-01-01T00:00:00.000Z', kind: 'device.enrolled' },
      ...{ outcome: 'success', actor_type: 'enrollment_token', actor_id: `enr_${random}`, actor_name: 'bench' },
      ...{ target_type: 'device', target_id: `dev_${random}`, target_name: 'laptop', source_ip: '127.0.0.1' },
      ...{ user_agent: null, request_id: `req_${random}`, origin: 'device' },
      ...{ fields: { device_id: `dev_${random}`, token_id: `enr_${random}` }, changes: null },
      details: { binding: 'dpop', status: 'active' },
    },
  ]).replace('2026-01-01T00:00:00.000Z', new Date().toISOString())
  const jwk = `{"kty":"EC","crv":"P-256","x":"${'x'.repeat(43)}","y":"${'y'.repeat(43)}"}`
  const begin = (scope: string) => `begin; set local holdfast.tenant = '${scope}'`
  return [
    begin('*'),
    `select * from enrollment_tokens where lookup = '${lookup}'`,
    'commit',
    begin(tenantId),
    `select * from enrollment_tokens where tenant_id = '${tenantId}' and token_id = '${tokenId}'`,
    'commit',
    begin(tenantId),
    `update enrollment_tokens set uses = uses + 1, last_used_at = now()
     where tenant_id = '${tenantId}' and token_id = '${tokenId}' and kind = 'enroll' and revoked_at is null
       and expires_at > now() and (max_uses = 0 or uses < max_uses) returning *`,
    `insert into proofs_seen (proof, expires_at) values (sha256('${random}'), now() + interval '2 minutes')
     on conflict (proof) do nothing returning proof`,
    `update tenant_epochs set addresses = addresses + 1 where tenant_id = '${tenantId}' returning addresses`,
    `insert into devices (tenant_id, device_id, user_id, name, platform, os_version, client_version, serial, tags, group_ids,
       status, jkt, public_jwk, wireguard_public_key, address_number, credential_expires_at, credential_renew_after,
       enrolled_method, token_id, ephemeral_seconds, enrolled_at)
     values ('${tenantId}', ${device}, null, 'laptop', 'linux', null, null, null, '{}', '{}', 'active',
       'bench-key-of-a-device-${random}', '${jwk}', null,
       (select 1000000000 + addresses from tenant_epochs where tenant_id = '${tenantId}'), now() + interval '30 days',
       now() + interval '20 days', 'token', '${tokenId}', null, now())
     on conflict (tenant_id, jkt) where status <> 'revoked' do nothing returning device_id`,
    `insert into audit_events (tenant_id, event_id, at, kind, outcome, actor_type, actor_id, actor_name, target_type,
       target_id, target_name, source_ip, user_agent, request_id, origin, fields, changes, details)
     select * from jsonb_to_recordset(('${event.replace('"EVENT"', `"'||${device}||'"`)}')::jsonb)
       as r (tenant_id uuid, event_id uuid, at timestamptz, kind text, outcome text, actor_type text, actor_id text,
       actor_name text, target_type text, target_id text, target_name text, source_ip text, user_agent text, request_id text,
       origin text, fields jsonb, changes jsonb, details jsonb)`,
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
