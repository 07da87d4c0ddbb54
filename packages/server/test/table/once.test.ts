import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { startKit } from '../support/deployment/deployment.ts'
import { schema } from './once-schema.ts'
import { races } from './races.ts'

/** Resources whose races another test covers: its file, and a text that stands in it. */
const elsewhere: Record<string, readonly [file: string, words: string]> = {
  'a checkpoint, and the tiles under it': ['api/audit-proof.test.ts', 'twenty ask for proofs on two replicas'],
  'a place in the record': ['api/audit-sequence.test.ts', 'twenty writers on two replicas make one sequence'],
  'a username': ['api/sets.test.ts', 'a username, however it is spelled'],
  'the name of a group': ['api/sets.test.ts', 'the name of a group'],
  'a role of a user': ['api/sets.test.ts', 'a role given'],
  'a one-time code': ['api/totp.test.ts', 'of many who show one code at once, on two replicas, one gets in'],
  'a recovery code': ['api/sets.test.ts', 'a recovery code'],
  'failures of an account': ['api/lockout.test.ts', 'lock the account exactly once'],
  'failures of a source': ['api/lockout.test.ts', 'a source with too many failures waits, on every replica'],
  'how many a plan allows': [
    'api/entitlement.test.ts',
    'of 20 who enroll at once, on two replicas, against a limit of 5 exactly 5 are let in; one revoked makes room for one',
  ],
  'what a tenant carried': [
    'api/usage.test.ts',
    'metering reports that are replayed, reordered and late: usage is equal to the byte',
  ],
  'a metering report': ['api/metering.test.ts', 'twenty sends of one report at once count once'],
  'the bytes of a session': ['api/metering.test.ts', 'different reports of one session at once all count'],
  'the answer to a sign-in': [
    'api/sign-in-by-provider.test.ts',
    'of twenty who bring the same answer, on two replicas, one is signed in',
  ],
  'a response of SAML': [
    'api/sign-in-by-saml.test.ts',
    'of twenty who post the same response, on two replicas, one is signed in',
  ],
  'a logout token': [
    'api/backchannel-logout.test.ts',
    'of twenty who bring one logout token, on two replicas, one is believed',
  ],
  'a device grant, and who asks the provider about it': [
    'api/enroll-device-code-limits.test.ts',
    'of twenty who ask at once on two replicas one asks the provider, and of twenty who finish one enrolls',
  ],
  'a connection in question': [
    'api/telemetry.test.ts',
    'twenty who say the same at once, on two replicas, put one connection in question once',
  ],
  'an event that a gateway puts on record': [
    'api/audit-ingest.test.ts',
    'an event of a gateway counts once, whoever of twenty callers brings it to which of two replicas',
  ],
  'a telemetry event': [
    'api/telemetry.test.ts',
    'an event counts once, within a request and across requests, on every replica',
  ],
  'a directory, its entries and its runs': [
    'api/directory-sync-safety.test.ts',
    'twenty snapshots at once on two replicas',
  ],
  'what a directory takes away within an hour': [
    'api/scim-safety.test.ts',
    'of twenty removals at once on two replicas no more are made than may be',
  ],
  'a source of a directory, and its pull': [
    'api/directory-pull.test.ts',
    'twenty who ask at once, on two replicas, get one run',
  ],
  'a key of a certificate': ['api/spc.test.ts', 'a key has one certificate, and is nobody else'],
  'a rotation of a certificate': ['api/spc.test.ts', 'of twenty rotations one is made'],
  'a revocation, and the list that says so': ['api/spc.test.ts', 'twenty revoke one: it is revoked once'],
  'a key that is to follow another': ['api/trust-rotation.test.ts', 'of twenty at once one is made'],
  'a rotation of trust anchors': ['api/trust-rotation.test.ts', 'of twenty who do so on two replicas one does'],
  'what several first starts say of their master keys': [
    'faults/master-keys.test.ts',
    'of twenty starts at once, with different lines, each key has one version',
  ],
  'a lock of a target': ['api/locks.slow.test.ts', 'of twenty locks of one target there is one'],
  'a run that is undone': [
    'api/workflow-replicas.slow.test.ts',
    'of twenty who undo one run at once, on two replicas, one does',
  ],
  'a purge of the record': [
    'api/audit-purge.test.ts',
    'the record goes from its beginning only, on two replicas once, and what is left is verified from there',
  ],
  'what went of a class': [
    'api/compliance.test.ts',
    'what a purge took that was cut off goes on record with the next one, once',
  ],
  'a warning of an end': ['api/expiry-warnings.test.ts', 'once at each threshold, on two replicas'],
  'a version that is released': [
    'api/updates.test.ts',
    'of twenty who publish, halt or create one version at once, on two replicas, one does',
  ],
  'a package, and its content': [
    'api/updates-uploads.test.ts',
    'of twenty uploads of one content at once, on two replicas, all are packages and one is stored',
  ],
  'an export to a webhook': [
    'api/siem-again.test.ts',
    'an export sends the events of a time once more: twenty who ask at once begin one',
  ],
  'a version of TUF metadata': [
    'api/updates-tuf.test.ts',
    'every version is given out once and says no less than the one before',
  ],
  'a change of state of a gateway': ['api/gateway-history.test.ts', 'each change is written once, whoever looks'],
  'a point of adoption': [
    'api/policy-adoption.test.ts',
    'points are written where something changed, once, though the job comes later',
  ],
  'a sample of a day': ['api/policy-adoption.test.ts', 'devices by platform and version, now and day by day'],
  'what a first start makes': [
    'faults/first-start.test.ts',
    'three first starts at once agree on one tenant and one administrator',
  ],
}

/** Reasons why a resource needs no race. */
const reasons = {
  id: 'of a random id, or of the row that it stands beside',
  last: 'the last word holds, whoever had it',
  setting: 'what somebody chose; it counts nothing',
  own: 'written by who alone may: a replica about itself, whoever holds the claim, a migration',
} as const

test('what there is once or so often, of twenty who want it at once on two replicas', async (t: TestContext) => {
  const kit = await startKit(t, { replicas: 2 })
  for (const [thing, race] of Object.entries(races)) {
    const { won, of } = await race(kit)
    assert.equal(won, of, thing)
  }
  t.diagnostic(`${Object.keys(races).length} things here, ${Object.keys(elsewhere).length} in tests of their own`)

  const { rows } = await kit.db.acrossTenants((tx) =>
    sql<{ name: string }>`
      select i.relname as name from pg_index x
        join pg_class i on i.oid = x.indexrelid join pg_class c on c.oid = x.indrelid
        where x.indisunique and c.relnamespace = 'public'::regnamespace and not c.relispartition
      union
      select c.relname || '.' || a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
          and a.attnum > 0 and not a.attisdropped and a.atttypid in ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
      order by 1`.execute(tx),
  )
  const found = rows.map((row) => row.name)
  assert.deepEqual(
    {
      unnamed: found.filter((name) => !(name in schema)),
      gone: Object.keys(schema).filter((name) => !found.includes(name)),
    },
    { unnamed: [], gone: [] },
    'a unique index or a number in the schema says which race tries it, or why none has to',
  )
  const known = new Set([...Object.keys(races), ...Object.keys(elsewhere), ...Object.keys(reasons)])
  assert.deepEqual(
    Object.entries(schema).filter(([, by]) => !known.has(by)),
    [],
  )
  for (const [file, words] of Object.values(elsewhere)) {
    const source = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
    assert.ok(source.includes(words), `${file} has no "${words}" any more`)
  }
})
