import type { Output } from '@holdfast/contract'
import type { listUserIdentities } from '@holdfast/contract/federation'
import type { Handlers } from '../../../http/handlers.ts'
import { failField } from '../../../kernel/app-error.ts'
import { decodeId, encodeId, idOf } from '../../../kernel/ids.ts'
import type { LinkRow } from './links.queries.ts'
import type { Links } from './links.ts'

type View = Output<typeof listUserIdentities>['items'][number]
type Given = { provider_id: string; subject: string; reason?: string }

export const linkHandlers = ({ links }: { links: Links }) =>
  ({
    listUserIdentities: async ({ actor, params }) => ({
      items: (await links.list(actor.tenantId, idOf('user', params.user_id))).map(view),
    }),
    linkUserIdentity: async ({ actor, params, body }) => {
      const { link, changed } = await links.link(actor, linkInput(params.user_id, body))
      return { identity: view(link), changed }
    },
    unlinkUserIdentity: async ({ actor, params, body }) => ({
      changed: await links.unlink(actor, linkInput(params.user_id, body)),
    }),
  }) satisfies Partial<Handlers>

const linkInput = (user: string, { provider_id, subject, reason }: Given) => ({
  user: idOf('user', user),
  provider: decodeId('identity_provider', provider_id) ?? failField('provider_id', 'no such identity provider'),
  subject,
  reason,
})

const view = (l: LinkRow): View => ({
  provider_id: encodeId('identity_provider', l.provider_id),
  provider_name: l.provider_name,
  issuer: l.issuer,
  subject: l.subject,
  linked_at: l.linked_at.toISOString(),
  last_login_at: l.last_login_at?.toISOString() ?? null,
})
