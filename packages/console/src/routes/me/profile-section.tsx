import { useMe } from '../../api/me.ts'
import { CopyId } from '../../ui/copy.tsx'
import { formatList, formatWord } from '../../ui/format.ts'
import { KeyValues } from '../../ui/key-values.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { Section } from './section.tsx'

/** Signed-in person and their roles. */
export function ProfileSection() {
  const { user, roles, tenant_name, session } = useMe()
  return (
    <Section id="profile" title="Profile">
      <div className="in">
        <KeyValues
          rows={[
            ['Username', user?.username],
            ['Name', user?.display_name || undefined],
            ['User', user && <CopyId id={user.user_id} />],
            ['Tenant', tenant_name],
            [roles.length === 1 ? 'Role' : 'Roles', formatList(roles.map(formatWord)) || undefined],
            session !== null && ['Signed in until', <Timestamp key="end" at={session.expires_at} as="exact" />],
          ]}
        />
      </div>
    </Section>
  )
}
