import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { startKit } from '../support/deployment/deployment.ts'
import { races } from './races.ts'
import { schema } from './single-use-schema.ts'

/** Resources whose races another test covers: its file, and a part of its title. */
const elsewhere: Record<string, readonly [file: string, words: string]> = {
  'a checkpoint, and the tiles under it': [
    'api/audit-proof.test.ts',
    'twenty concurrent proofs on two replicas share one checkpoint per size',
  ],
  'a sequence number of the audit log': [
    'api/audit-sequence.test.ts',
    'twenty writers on two replicas make one hash-chained sequence',
  ],
  'a username': ['api/set-rules.test.ts', 'a username, however it is spelled'],
  'the name of a group': ['api/set-rules.test.ts', 'the name of a group'],
  'a role of a user': ['api/set-rules.test.ts', 'a role given'],
  'a one-time code': ['api/totp.test.ts', 'of many concurrent sign-ins with one code on two replicas, one succeeds'],
  'a recovery code': ['api/set-rules.test.ts', 'a recovery code'],
  'failures of an account': ['api/lockout.test.ts', 'lock the account exactly once'],
  'failures of a source': ['api/lockout.test.ts', 'an address with too many failures is throttled on every replica'],
  'a limit of a plan': [
    'api/entitlement.test.ts',
    'of 20 concurrent enrollments on two replicas against a limit of 5 exactly 5 succeed, and a revocation frees one',
  ],
  'the usage of a tenant': [
    'api/usage.test.ts',
    'usage is exact to the byte after replayed, reordered and late reports',
  ],
  'a metering report': ['api/metering.test.ts', 'twenty concurrent sends of one report count once'],
  'the bytes of a session': ['api/metering.test.ts', 'twenty different concurrent reports of one session all count'],
  'the answer to a sign-in': [
    'api/sign-in-by-provider.test.ts',
    'of twenty concurrent uses of one answer on two replicas, one starts a session',
  ],
  'a SAML response': [
    'api/sign-in-by-saml.test.ts',
    'of twenty concurrent posts of one response on two replicas, one starts a session',
  ],
  'a logout token': [
    'api/backchannel-logout.test.ts',
    'of twenty concurrent posts of one logout token on two replicas, one is accepted',
  ],
  'a device grant, and its polls': [
    'api/enroll-device-code-limits.test.ts',
    'of twenty concurrent polls on two replicas one asks the provider, and of twenty finishes one enrolls',
  ],
  'a connection in question': [
    'api/telemetry.test.ts',
    'twenty concurrent equal claims on two replicas put one connection in question',
  ],
  'an audit event of a gateway': [
    'api/audit-ingest.test.ts',
    'an event of a gateway counts once, of twenty concurrent reports on two replicas',
  ],
  'a telemetry event': [
    'api/telemetry.test.ts',
    'an event counts once, within a request and across requests and replicas',
  ],
  'a directory, its entries and its runs': [
    'api/directory-sync-safety.test.ts',
    'twenty concurrent snapshots on two replicas',
  ],
  'the removals of a directory within an hour': [
    'api/scim-safety.test.ts',
    'of twenty concurrent removals on two replicas only as many as allowed succeed',
  ],
  'a source of a directory, and its pull': [
    'api/directory-pull.test.ts',
    'twenty concurrent requests on two replicas start one run',
  ],
  'the key of a certificate': ['api/spc.test.ts', 'a key gets one certificate, for one device'],
  'a rotation of a certificate': ['api/spc.test.ts', 'of twenty concurrent rotations one succeeds'],
  'a revocation, and its list': ['api/spc.test.ts', 'of twenty concurrent revocations one takes effect'],
  'a new signing key': ['api/trust-rotation.test.ts', 'of twenty concurrent creations one key is made'],
  'a rotation of trust anchors': [
    'api/trust-rotation.test.ts',
    'of twenty concurrent rotations on two replicas one succeeds',
  ],
  'the master keys of several first starts': [
    'faults/master-keys.test.ts',
    'of twenty concurrent starts with different lines, each key gets one version',
  ],
  'a lock of a target': ['api/locks.slow.test.ts', 'of twenty concurrent locks of one target one is created'],
  'the undo of a run': [
    'api/workflow-replicas.slow.test.ts',
    'of twenty concurrent undos of one run on two replicas, one takes effect',
  ],
  'a purge of the audit log': [
    'api/audit-purge.test.ts',
    'the log is purged from its beginning only, once on two replicas, and the rest still verifies',
  ],
  'the purged rows of a class': [
    'api/compliance.test.ts',
    'rows purged by an interrupted run are recorded by the next run, once',
  ],
  'a warning of an expiry': [
    'api/expiry-warnings.test.ts',
    'administrators are warned once at each threshold of an expiry, on two replicas',
  ],
  'a release of a version': [
    'api/updates.test.ts',
    'of twenty concurrent publishes, halts or creations of one version on two replicas, one succeeds',
  ],
  'a package, and its content': [
    'api/updates-uploads.test.ts',
    'twenty concurrent uploads of one content on two replicas give twenty packages and one stored file',
  ],
  'an export to a webhook': [
    'api/siem-replay.test.ts',
    'an export sends the events of a period again, and twenty concurrent requests start one',
  ],
  'a version of TUF metadata': [
    'api/updates-tuf.test.ts',
    'each metadata version is served once and lists at least as much as the one before',
  ],
  'a change of state of a gateway': [
    'api/gateway-history.test.ts',
    'each change is recorded once, by concurrent recorders too',
  ],
  'a point of adoption': [
    'api/policy-adoption.test.ts',
    'a point is stored once for each change, even if the job runs late',
  ],
  'a sample of a day': ['api/policy-adoption.test.ts', 'devices are counted by platform and version, now and per day'],
  'the rows of a first start': [
    'faults/first-start.test.ts',
    'three concurrent first starts agree on one tenant and one administrator',
  ],
}

/** Reasons why a resource needs no race. */
const reasons = {
  id: 'a random id, or a column of the row that has it',
  last: 'the last write counts',
  setting: 'a chosen value, not a count',
  own: 'has one writer: the replica itself, the holder of the lease, or a migration',
} as const

test('each single-use or counted thing survives twenty concurrent attempts on two replicas', async (t: TestContext) => {
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
    'a unique index or a number in the schema names its race, or the reason why it needs none',
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
