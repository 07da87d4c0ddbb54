/** Statements that look at, or write rows of, several tenants in one: where they stand, and why they must. */
export const acrossTenants: Readonly<Record<string, string>> = {
  'db/claims.ts#forgetOld': 'keys of a day ago',
  'db/retention.ts#selectErased': 'tenants of which only the record is left, whose oldest goes too',
  'db/secret-columns.ts#countByKey': 'how much is under which master key, of all tenants',
  'memory/feed-connection.ts#connectFeed': 'the heartbeat compares where all tenants stand',
  'memory/changes.ts#pruneChanges': 'changes of a day ago',
  'policy/policy.queries.ts#tenantsWithReports': 'whose devices a sweep must look at',
  'tenancy/tenants/tenants.queries.ts#listTenants': 'who there is: what every sweep and start begins with',
  'tenancy/tenants/tenants.handlers.ts#list': 'a platform administrator lists all tenants',
  'tenancy/tenants/tenants.queries.ts#findTenantByName': 'a sign-in names its tenant by name',
  'tenancy/tenants/tenants.queries.ts#insertTenant': 'names of tenants are unique among all',
  'tenancy/tenants/deletion.queries.ts#selectToErase': 'tenants whose time has come',
  'tenancy/entitlement/entitlement.queries.ts#tenantsWithLimits': 'whom a sweep must tell of limits',
  'tenancy/entitlement/entitlement.queries.ts#tenantsWithMoves': 'whose counters a sweep must add up',
  'audit/audit.queries.ts#insert': 'group commit: events of whoever asked in the same moment',
  'audit/ingest/ingest.queries.ts#noteReported': 'group commit: what gateways report in the same moment',
  'audit/proof/proof.queries.ts#tenantsToSign': 'whose record has grown since it was signed',
  'audit/audit.queries.ts#backlogOf': 'metrics: events of all tenants that wait for their places',
  'siem/delivery/standing.queries.ts#standingOf': 'metrics: how delivery stands for all tenants',
  'tenancy/entitlement/entitlement.queries.ts#totalsOf': 'metrics: how many there are of all tenants',
  'audit/audit.queries.ts#tenantsWithArrivals': 'whose events a sweep must give their places',
  'access/api-keys.queries.ts#writeActivity': 'write-behind: keys used lately',
  'devices/devices.queries.ts#touchDevices': 'write-behind: devices seen lately',
  'gateways/reports/activity.queries.ts#upsertActivity': 'group commit: gateways that report in the same moment',
  'gateways/reports/telemetry.queries.ts#ownSessions':
    'group commit: whose sessions telemetry of the same moment speaks of',
  'gateways/reports/telemetry.queries.ts#knownEvents': 'group commit: telemetry of the same moment',
  'gateways/reports/telemetry.queries.ts#insertEvents': 'group commit: telemetry of the same moment',
  'devices/devices.queries.ts#markDevices': 'group commit: telemetry of the same moment',
  'identity/sessions/sessions.queries.ts#writeLastSeen': 'write-behind: sessions used lately',
  'devices/devices.queries.ts#tenantsWithEphemerals': 'whose devices a sweep must look at',
  'gateways/reports/sessions.queries.ts#tenantsWithSilent': 'whose VPN sessions a sweep must end',
  'gateways/reports/activity.queries.ts#silentSince': 'gateways that are down, for the watch over all tenants',
  'notifications/deliveries.queries.ts#tenantsDue': 'whose deliveries are due, who waited longest first',
  'notifications/notifications.queries.ts#tenantsWithOpen': 'whose notices a sweep may close',
  'directory/pull/sources.queries.ts#dueSources': 'whose directories are to be read now',
  'directory/pull/pulls.queries.ts#freePulls': 'pulls that a replica left',
  'policy/policy.queries.ts#tenantsWithUnfinishedImpacts': 'whose publishes a replica left unmeasured',
  'identity/sessions/sessions.queries.ts#tenantsWithSessions': 'whose sessions a sweep must look at',
  'devices/trust-coverage.queries.ts#markTrust': 'write-behind: devices that fetched trust sets lately',
  'trust/signers/signers.queries.ts#dueToRetire': 'keys that a sweep may retire',
  'trust/anchors/rotation.queries.ts#activeIssuing': 'whose issuing CA a sweep must renew',
  'certificates/spc/spcs.queries.ts#tenantsWithSuperseded': 'whose certificates a sweep must end',
  'certificates/crl/crls.queries.ts#tenantsDue': 'whose revocation lists a sweep must issue',
  'siem/delivery/streams.queries.ts#dueStreams': 'whose events are to be forwarded now, who waited longest first',
}

/** Inserts whose rows do not all come from what was given, and why they may. */
export const fromRelations: Readonly<Record<string, string>> = {
  'memory/changes.ts#record':
    'its number is that of the epoch which the same statement has moved, in one trip while that is locked',
}

/** Tables that need no place in the order of locks: who waits for a row of theirs holds nothing else. */
export const awaitedAlone: Readonly<Record<string, string>> = {
  idempotency_keys: 'a claim is taken in a transaction of its own; its holder alone settles it',
}

/** Changes of several rows that need no order: where they stand, and why nobody can wait for them crosswise. */
export const inNoOrder: Readonly<Record<string, string>> = {
  'tenancy/entitlement/entitlement.queries.ts#takeMoves':
    'of counters that are locked in order; nobody else deletes any',
  'tenancy/entitlement/entitlement.queries.ts#writeCounters': 'lockCounters has locked them in order',
  'identity/signin/second-factor.queries.ts#useRecoveryCode': 'of the digests that one code may have, one is there',
  'db/erase.ts': 'of a tenant that is gone: nobody else changes anything of it',
  'enrollment/batch.queries.ts#useTokens': 'lockTokens has locked them in order',
  'identity/people/groups.queries.ts#removeMembers': 'only who holds the group changes who is in it',
  'identity/people/users.queries.ts#entomb': 'roles of a user whose row is held',
  'federation/providers.queries.ts#deleteProvider': 'of a provider whose row is held',
  'federation/providers.queries.ts#writeMappings': 'of a provider whose row is held',
  'directory/pull/pulls.queries.ts#deletePages': 'of a source, or its pull, that is held',
  'directory/pull/sources.queries.ts#forgetPages': 'of a source that is held',
  'federation/links.queries.ts#deleteLink': 'of a user whose row is held',
  'gateways/registry/secrets.queries.ts#endReplaced': 'secrets of a gateway whose row is held',
  'gateways/registry/secrets.queries.ts#endExpired': 'secrets of a gateway whose row is held',
  'gateways/registry/secrets.queries.ts#endUnused': 'secrets of a gateway whose row is held',
  'gateways/registry/secrets.queries.ts#limitCurrent': 'secrets of a gateway whose row is held',
  'gateways/registry/secrets.queries.ts#endAll': 'secrets of a gateway whose row is held',
  'updates/releases/releases.queries.ts#deleteDraft': 'of a release whose row is held',
  'updates/packages/packages.queries.ts#deleteBlobs': 'what is being removed is changed by nobody',
  'db/retention.ts#take': 'what is over is changed by nobody, and one replica runs the job',
  'db/claims.ts#forgetOld': 'what is over is changed by nobody, and one replica runs the job',
  'devices/proofs.queries.ts#forgetProofs': 'what is over is changed by nobody, and one replica runs the job',
  'health/replicas.queries.ts#forgetSilent': 'what is over is changed by nobody, and one replica runs the job',
  'identity/signin/login.queries.ts#forgetFailures': 'what is over is changed by nobody, and one replica runs the job',
  'memory/changes.ts#pruneChanges': 'what is over is changed by nobody, and one replica runs the job',
  'devices/devices.queries.ts#updateDevice': 'tags of a device whose row is held',
  'notifications/deliveries.queries.ts#failPendingWebhooks':
    'only who holds the settings does it, and who claims deliveries passes over what is locked',
  'siem/dead-letters.queries.ts#markReplaying': 'of a connector whose stream is held',
  'siem/dead-letters.queries.ts#unmarkReplaying': 'of a connector whose stream is held',
  'siem/dead-letters.queries.ts#deleteDeadLetters': 'of a connector whose stream is held',
  'siem/dead-letters.queries.ts#take': 'of connectors whose streams are locked in order',
  'siem/connectors.queries.ts#deleteStreams': 'of a connector whose row is held',
  'siem/delivery/streams.queries.ts#endExportLeases': 'of a connector whose row is held',
  'certificates/spc/issue.queries.ts#supersede': 'lockActive has locked them in order',
  'devices/revoked.queries.ts#take': 'of devices that are locked in order',
  'identity/sessions/sessions.queries.ts#writeLastSeen':
    'marks of several tenants, whose rows nobody may lock together; it is all of its transaction, and what loses is run again',
}
