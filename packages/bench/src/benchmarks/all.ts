import { auditLag } from './audit-lag.ts'
import { auditQuery } from './audit-query.ts'
import { forgedFlood } from './forged-flood.ts'
import { loginFlood } from './login-flood.ts'
import { digestPoll } from './p01-digest-poll.ts'
import { digestPollProof } from './p02-digest-poll-proof.ts'
import { bundleFetch } from './p03-bundle-fetch.ts'
import { waiters } from './p04-waiters.ts'
import { publish } from './p05-publish.ts'
import { membership } from './p06-membership.ts'
import { enrollment } from './p07-enrollment.ts'
import { certificates } from './p08-certificates.ts'
import { auditIngest } from './p09-audit-ingest.ts'
import { auditedRead } from './p10-audited-read.ts'
import { deviceList } from './p12-device-list.ts'
import { overview } from './p13-overview.ts'
import { reconnectStorm } from './p14-reconnect-storm.ts'
import { starting } from './p15-start.ts'
import { memory } from './p16-memory.ts'
import { revocation } from './p17-revocation.ts'
import { directory } from './p18-directory.ts'
import { pollCost } from './p19-poll-cost.ts'
import { forwarding } from './p20-siem.ts'
import { gatewaySnapshot } from './p21-gateway-snapshot.ts'
import { randomMemberships } from './p22-random-memberships.ts'
import { flattening } from './p23-flatten.ts'
import { tenants } from './p24-tenants.ts'
import { auditExport } from './p25-audit-export.ts'
import { purge } from './p26-purge.ts'
import type { Benchmark } from './rig/result.ts'
import { sizing } from './sizing.ts'
import { small } from './small.ts'

/** In the order of the design. */
export const benchmarks: readonly Benchmark[] = [
  ...[digestPoll, digestPollProof, bundleFetch, waiters, publish, membership, enrollment],
  ...[
    certificates,
    auditIngest,
    auditedRead,
    deviceList,
    overview,
    reconnectStorm,
    starting,
    memory,
    revocation,
    directory,
  ],
  ...[pollCost, forwarding, gatewaySnapshot, randomMemberships, flattening, tenants, auditExport, purge],
  ...[auditQuery, auditLag, loginFlood, forgedFlood, small, sizing],
]
