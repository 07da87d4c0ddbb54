import type { DirectorySourceKind } from '@holdfast/contract/vocabulary'
import { issuerProblem } from '../../federation/index.ts'
import { createEntra } from './entra.ts'
import { createKeycloak } from './keycloak.ts'
import { createOkta } from './okta.ts'
import type { Vendor } from './vendor.ts'

const problemOf = (kind: DirectorySourceKind) => (issuer: string) => issuerProblem(kind, issuer)

/** Reader of each kind of directory. */
export const vendors: Readonly<Record<DirectorySourceKind, Vendor>> = {
  keycloak: createKeycloak(problemOf('keycloak')),
  entra_id: createEntra(problemOf('entra_id')),
  okta: createOkta(problemOf('okta')),
}
