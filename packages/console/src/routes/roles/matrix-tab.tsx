import { AppLink } from '../../ui/app-link.tsx'
import { Frame } from '../../ui/frame.tsx'
import { ScrollRegion } from '../../ui/scroll-region.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { roleHelp, roleWords } from '../users/words.ts'
import { type AreaRow, areaRows, areaWords, type RoleRights } from './matrix.ts'

const roleColumns: readonly TableColumn<RoleRights>[] = [
  { label: 'Role', isHead: true, cell: ({ role }) => roleWords(role) },
  { label: 'Purpose', className: 'p2', cell: ({ role }) => <span className="soft">{roleHelp[role]}</span> },
  { label: 'Permissions', className: 'n', cell: ({ permissions }) => permissions.length },
  {
    label: 'People',
    className: 'n',
    cell: ({ role }) => (
      <AppLink to={`/admin/roles?tab=grants&role=${role}`}>
        Show <span className="vh">people with the role {roleWords(role)}</span>
      </AppLink>
    ),
  },
]

/** Purpose of each role, and the matrix of roles and permissions. */
export const MatrixTab = ({ roles }: { roles: readonly RoleRights[] }) => (
  <>
    <Frame title="Roles" inset="flush">
      <Table columns={roleColumns} rows={roles} keyOf={({ role }) => role} />
    </Frame>
    <Frame title="Permissions" inset="flush">
      <ScrollRegion className="tw matrix" label="Matrix of roles and permissions">
        <table className="t inset rights">
          <thead>
            <tr>
              <th scope="col">Area</th>
              {roles.map(({ role }) => (
                <th key={role} scope="col">
                  {roleWords(role)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {areaRows(roles).map((row) => (
              <MatrixRow key={row.area} row={row} roles={roles} />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </Frame>
  </>
)

const MatrixRow = ({ row, roles }: { row: AreaRow; roles: readonly RoleRights[] }) => (
  <tr>
    <th scope="row">{areaWords(row.area)}</th>
    {roles.map(({ role }) => (
      <td key={role}>
        <Verbs verbs={row.byRole.get(role) ?? []} />
      </td>
    ))}
  </tr>
)

/** Permissions to read are soft text. Those to change something are in ink. */
const Verbs = ({ verbs }: { verbs: readonly string[] }) =>
  verbs.length === 0 ? (
    <span className="faint">–</span>
  ) : (
    <span className={verbs.every((verb) => verb === 'read') ? 'soft' : undefined}>{verbs.join(', ')}</span>
  )
