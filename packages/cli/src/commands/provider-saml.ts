import { readFile } from 'node:fs/promises'
import type { Contract, Input } from '@holdfast/contract'
import { type IdentityProviderKind, nameIdFormats } from '@holdfast/contract/vocabulary'
import type { Command } from 'commander'
import { given } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { choice } from '../options.ts'

export type SamlOptions = {
  metadataUrl?: string
  metadataFile?: string
  entityId?: string
  ssoUrl?: string
  certificate?: string[]
  nameIdFormat?: (typeof nameIdFormats)[number]
  signedResponse?: 'on' | 'off'
}
export const samlOptions = (command: Command): Command =>
  command
    .option('--metadata-url <url>', 'saml: URL of the metadata of the provider, which the server reads once an hour')
    .option('--metadata-file <file>', 'saml: file with the metadata of the provider, if they have no URL')
    .option(
      '--entity-id <id>',
      'saml: entity id of the provider, if it has no metadata; needs --sso-url and --certificate',
    )
    .option('--sso-url <url>', 'saml: sign-in URL of the provider (HTTP-Redirect binding)')
    .option('--certificate <file...>', 'saml: files with the signing certificates of the provider (PEM)')
    .addOption(choice('--name-id-format <format>', 'saml: format of the NameID', nameIdFormats))
    .addOption(choice('--signed-response <on|off>', 'saml: require a signature of the whole response', ['on', 'off']))

type Saml = NonNullable<Input<Contract['updateIdentityProvider']>['body']['saml']>
/** Returns the SAML settings. A new source of the provider's metadata replaces the previous one. */
export async function samlOf(options: SamlOptions): Promise<Partial<Saml>> {
  const { metadataUrl, metadataFile, entityId, ssoUrl, certificate } = options
  const byHand = [entityId, ssoUrl, certificate]
  const isByHand = byHand.some((value) => value !== undefined)
  if ([metadataUrl, metadataFile, isByHand || undefined].filter((source) => source !== undefined).length > 1)
    throw new UsageError(
      'Use only one of --metadata-url, --metadata-file, or --entity-id with --sso-url and --certificate.',
    )
  if (isByHand && byHand.includes(undefined))
    throw new UsageError('Use --entity-id, --sso-url and --certificate together.')
  const set = given({
    name_id_format: options.nameIdFormat,
    signed_response: options.signedResponse && options.signedResponse === 'on',
  })
  if (metadataUrl !== undefined) return { ...set, metadata_url: metadataUrl, idp: null }
  if (metadataFile !== undefined)
    return { ...set, metadata_url: null, idp: null, metadata_xml: await readText(metadataFile) }
  if (entityId === undefined || ssoUrl === undefined || certificate === undefined) return set
  const certificates = await Promise.all(certificate.map(readText))
  return { ...set, metadata_url: null, idp: { entity_id: entityId, sso_url: ssoUrl, certificates } }
}
async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    throw new UsageError(`${path} can't be read.`)
  }
}

/** Refuses options of the other protocol. */
export function refuseOther(kind: IdentityProviderKind, { oidc, saml }: { oidc: object; saml: object }): void {
  if (kind === 'saml' && Object.keys(oidc).length > 0)
    throw new UsageError(
      '--issuer, --client-id, --client-secret, --scope and --mobile-client-id cannot be used with kind saml.',
    )
  if (kind !== 'saml' && Object.keys(saml).length > 0)
    throw new UsageError('Metadata, entity ids, certificates and presets can be used with kind saml only.')
}
